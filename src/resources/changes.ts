import type { Type } from '@nestjs/common';
import type { DataSource, EntityManager, FindOptionsWhere, Repository } from 'typeorm';
import type { QueryDeepPartialEntity } from 'typeorm/query-builder/QueryPartialEntity.js';
import type { ConnectionShares } from '../database/connection-shares.js';
import type { Transactions } from '../database/transactions.js';
import { ERRORS } from '../errors/common-errors.js';
import { PlantStoreError } from '../errors/plant-store.error.js';
import type { Precondition } from '../http/answers/entity-tag.js';
import { withConstraintErrors } from './constraints.js';
import type { ConstraintErrors } from './constraints.js';
import { contentOf } from './entity-columns.js';
import type { EntityColumns, Identified, IdFailure } from './entity-columns.js';

export interface ChangesOptions<Entity> {
  readonly entity: Type<Entity>;
  /** Known when the database is connected. */
  readonly columns: () => EntityColumns;
  /** The class whose members make the entity tag. Only these members are changed. */
  readonly dto: Type;
  readonly constraints: ConstraintErrors;
  readonly notFound: IdFailure;
  readonly dataSource: DataSource;
  readonly shares: ConnectionShares;
  readonly transactions: Transactions;
}

/**
 * Changes and removes single rows of an entity. With a precondition, the row is locked while it is checked, so that a
 * concurrent change is either seen by the check or waits for this change (docs/decisions/conditional-changes.md).
 *
 * Each method becomes part of the transaction of `outer`, if it is given (docs/framework/transactions.md).
 *
 * All methods throw PlantStoreError `notFound`, `precondition-failed`, or `body-not-valid` if the body has another id.
 */
export class Changes<Entity extends Identified> {
  constructor(private readonly options: ChangesOptions<Entity>) {}

  /** Replaces all members. A member that the body lacks becomes null. */
  replace(
    id: bigint,
    body: object,
    precondition?: Precondition,
    outer?: EntityManager,
  ): Promise<Entity> {
    return this.update(id, body, (value) => value ?? null, precondition, outer);
  }

  /** Changes the members that a JSON Merge Patch has; null removes one (RFC 7396). */
  patch(
    id: bigint,
    body: object,
    precondition?: Precondition,
    outer?: EntityManager,
  ): Promise<Entity> {
    return this.update(id, body, (value) => value, precondition, outer);
  }

  remove(id: bigint, precondition?: Precondition, outer?: EntityManager): Promise<Entity> {
    return this.change(id, precondition, outer, (rows) =>
      rows.createQueryBuilder().delete().where({ id }).returning('*').execute(),
    );
  }

  private async update(
    id: bigint,
    body: object,
    valueOf: (value: unknown) => unknown,
    precondition: Precondition | undefined,
    outer: EntityManager | undefined,
  ): Promise<Entity> {
    const members = body as Readonly<Record<string, unknown>>;
    if (members['id'] !== undefined && members['id'] !== id) {
      throw new PlantStoreError(ERRORS.bodyNotValid, `id must be the id in the path, ${id}`);
    }
    const columns = this.options.columns();
    const { changeable, key } = columns;
    // Columns that are not members of the DTO are hidden from clients.
    const values = changeable
      .filter((column) => columns.of(this.options.dto).includes(column))
      .map(({ property }) => [property, valueOf(members[property])] as const)
      .filter(([, value]) => value !== undefined);
    // Without a change, the statement still writes, so that its commit waits for standbys.
    const { property, name } = changeable[0] ?? key;
    const set = values.length === 0 ? [[property, () => name] as const] : values;
    return this.change(id, precondition, outer, (rows) =>
      rows
        .createQueryBuilder()
        .update()
        .set(Object.fromEntries(set) as QueryDeepPartialEntity<Entity>)
        .where({ id })
        .returning('*')
        .execute(),
    );
  }

  /** @param perform returns the rows that it has changed */
  private async change(
    id: bigint,
    precondition: Precondition | undefined,
    outer: EntityManager | undefined,
    perform: (rows: Repository<Entity>) => Promise<{ readonly raw: unknown }>,
  ): Promise<Entity> {
    const { entity, dto, constraints, notFound, dataSource, shares, transactions } = this.options;
    const columns = this.options.columns();
    const rows = dataSource.getRepository(entity);
    const changeIfSame = () =>
      transactions.run(async (manager) => {
        const locked = manager.withRepository(rows);
        const where = { id } as FindOptionsWhere<Entity>;
        const row = await locked.findOne({ where, lock: { mode: 'pessimistic_write' } });
        if (row === null) throw notFound(id);
        if (precondition?.(contentOf(columns.of(dto), row)) === false) {
          throw new PlantStoreError(ERRORS.preconditionFailed);
        }
        return perform(locked);
      }, outer);
    const change = () =>
      outer === undefined
        ? shares.changes.run(() => perform(rows))
        : perform(outer.withRepository(rows));
    const result = await withConstraintErrors(
      constraints,
      precondition === undefined ? change : changeIfSame,
    );
    // TypeORM returns the rows of RETURNING without converting the values of the driver.
    const [row] = result.raw as readonly Readonly<Record<string, unknown>>[];
    if (row === undefined) throw notFound(id);
    return columns.entityOf(columns.all.map(({ databaseName }) => row[databaseName])) as Entity;
  }
}
