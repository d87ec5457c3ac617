import type { Type } from '@nestjs/common';
import type { DataSource, FindOptionsWhere, Repository } from 'typeorm';
import type { QueryDeepPartialEntity } from 'typeorm/query-builder/QueryPartialEntity.js';
import type { ConnectionShares } from '../database/connection-shares.js';
import type { Transactions } from '../database/transactions.js';
import { ERRORS } from '../errors/common-errors.js';
import { PlantStoreError } from '../errors/plant-store.error.js';
import type { Precondition } from '../http/answers/entity-tag.js';
import { withConstraintErrors } from './constraints.js';
import type { ConstraintErrors } from './constraints.js';
import type { EntityColumns, Identified } from './entity-columns.js';

export interface ChangesOptions<Entity, Dto> {
  readonly entity: Type<Entity>;
  /** Known when the database is connected. */
  readonly columns: () => EntityColumns;
  /** What a precondition is about. */
  readonly represent: (entity: Entity) => Dto;
  readonly constraints: ConstraintErrors | undefined;
  readonly dataSource: DataSource;
  readonly shares: ConnectionShares;
  readonly transactions: Transactions;
}

/** What the body of a change may have. The other members are those of the entity. */
interface ChangeBody {
  readonly id?: bigint;
}

type Values<Entity> = QueryDeepPartialEntity<Entity>;

/**
 * Changes and removes single rows of an entity. With a precondition, the row is locked while it is checked, so that a
 * concurrent change is either seen by the check or waits for this change (docs/decisions/conditional-changes.md).
 *
 * All methods return `undefined` if there is no row with the id, and throw PlantStoreError `precondition-failed`, or
 * `body-not-valid` if the body has another id.
 */
export class Changes<Entity extends Identified, Dto extends object> {
  constructor(private readonly options: ChangesOptions<Entity, Dto>) {}

  /** Replaces all members. Those that the body does not have become null. */
  replace(id: bigint, body: ChangeBody, precondition?: Precondition): Promise<Entity | undefined> {
    return this.update(id, body, (value) => value ?? null, precondition);
  }

  /** Changes the members that a JSON Merge Patch has; null removes one (RFC 7396). */
  patch(id: bigint, body: ChangeBody, precondition?: Precondition): Promise<Entity | undefined> {
    return this.update(id, body, (value) => value, precondition);
  }

  remove(id: bigint, precondition?: Precondition): Promise<Entity | undefined> {
    return this.change(id, precondition, async (rows) =>
      this.entityOf(
        await rows.createQueryBuilder().delete().where({ id }).returning('*').execute(),
      ),
    );
  }

  private async update(
    id: bigint,
    body: ChangeBody,
    valueOf: (value: unknown) => unknown,
    precondition: Precondition | undefined,
  ): Promise<Entity | undefined> {
    if (body.id !== undefined && body.id !== id) {
      throw new PlantStoreError(ERRORS.bodyNotValid, `id must be the id in the path, ${id}`);
    }
    const { given, key } = this.options.columns();
    const members = body as Readonly<Record<string, unknown>>;
    const others = given.filter((column) => column !== key);
    const values = others
      .map(({ property }) => [property, valueOf(members[property])] as const)
      .filter(([, value]) => value !== undefined);
    // Without a change, the statement still writes, so that its commit waits for standbys.
    const { property, name } = others[0] ?? key;
    const set = values.length === 0 ? [[property, () => name] as const] : values;
    return this.change(id, precondition, async (rows) =>
      this.entityOf(
        await rows
          .createQueryBuilder()
          .update()
          .set(Object.fromEntries(set) as Values<Entity>)
          .where({ id })
          .returning('*')
          .execute(),
      ),
    );
  }

  private change(
    id: bigint,
    precondition: Precondition | undefined,
    perform: (rows: Repository<Entity>) => Promise<Entity | undefined>,
  ): Promise<Entity | undefined> {
    const { entity, constraints, dataSource, shares, transactions, represent } = this.options;
    const rows = dataSource.getRepository(entity);
    const changeIfSame = () =>
      transactions.run(async (manager) => {
        const locked = manager.withRepository(rows);
        const where = { id } as FindOptionsWhere<Entity>;
        const row = await locked.findOne({ where, lock: { mode: 'pessimistic_write' } });
        if (row === null) return undefined;
        if (precondition?.(represent(row)) === false) {
          throw new PlantStoreError(ERRORS.preconditionFailed);
        }
        return perform(locked);
      });
    const change = () => shares.changes.run(() => perform(rows));
    return withConstraintErrors(
      constraints ?? {},
      precondition === undefined ? change : changeIfSame,
    );
  }

  /** TypeORM returns the rows of RETURNING as the driver does. */
  private entityOf({ raw }: { readonly raw: unknown }): Entity | undefined {
    const [row] = raw as readonly Readonly<Record<string, unknown>>[];
    const columns = this.options.columns();
    return (
      row && (columns.entityOf(columns.all.map(({ databaseName }) => row[databaseName])) as Entity)
    );
  }
}
