import type { Type } from '@nestjs/common';
import type {
  DataSource,
  DeleteQueryBuilder,
  EntityManager,
  FindOptionsWhere,
  Repository,
  UpdateQueryBuilder,
} from 'typeorm';
import type { QueryDeepPartialEntity } from 'typeorm/query-builder/QueryPartialEntity.js';
import { beforeRowWait, rowWait } from '../database/row-wait.js';
import type { Semaphore } from '../database/semaphore.js';
import type { Statement, Statements } from '../database/statements.js';
import type { Transactions } from '../database/transactions.js';
import { ERRORS } from '../errors/common-errors.js';
import { ServiceException } from '../errors/service.exception.js';
import type { Precondition } from '../http/answers/entity-tag.js';
import { withRowErrors } from './constraints.js';
import type { ConstraintErrors } from './constraints.js';
import { contentOf } from './entity-columns.js';
import type { EntityColumns, IdFailure } from './entity-columns.js';
import type { History } from './history/history.js';
import { requireOrigin } from './history/origin.js';
import type { Origin } from './history/origin.js';
import type { RecordStatements } from './history/record-statements.js';
import type { Keyed } from './key-type.js';
import { rowKey } from './locked-rows.js';
import type { RowSlots } from './row-slots.js';

export interface UpdatesOptions<Entity extends Keyed> {
  readonly entity: Type<Entity>;
  /** Known when the database is connected. */
  readonly columns: () => EntityColumns;
  /** The class whose members make the entity tag. Only these members are changed. */
  readonly dto: Type;
  readonly constraints: ConstraintErrors;
  readonly notFound: IdFailure<Entity['id']>;
  readonly dataSource: DataSource;
  readonly rowSlots: RowSlots;
  readonly transactions: Transactions;
  readonly statements: Statements;
  /** Where changes are recorded, if they are. */
  readonly history?: History | undefined;
  /** Called with a row that was replaced or patched. */
  readonly onChanged?: (row: Entity) => void;
}

/** What a change belongs to. */
export interface ChangeContext {
  /** The request that its record names. Required if changes are recorded. */
  readonly origin?: Origin;
  /** The change becomes part of the transaction of this manager (docs/framework/transactions.md). */
  readonly manager?: EntityManager;
}

type UpdateQuery<Entity extends object> = UpdateQueryBuilder<Entity> | DeleteQueryBuilder<Entity>;

/**
 * Replaces, patches and removes single rows of an entity. With a precondition, the row is locked while it is checked, so that a
 * concurrent change is either seen by the check or waits for this change (docs/decisions/conditional-changes.md).
 *
 * All methods throw ServiceException `notFound`, `precondition-failed`, or `body-not-valid` if the body has another id.
 */
export class Updates<Entity extends Keyed> {
  constructor(private readonly options: UpdatesOptions<Entity>) {}

  /** Replaces all members. A member that the body lacks becomes null. */
  replace(
    id: Entity['id'],
    body: object,
    precondition?: Precondition,
    context: ChangeContext = {},
  ): Promise<Entity> {
    return this.update(id, body, (value) => value ?? null, precondition, context);
  }

  /** Changes the members that a JSON Merge Patch has; null removes one (RFC 7396). */
  patch(
    id: Entity['id'],
    body: object,
    precondition?: Precondition,
    context: ChangeContext = {},
  ): Promise<Entity> {
    return this.update(id, body, (value) => value, precondition, context);
  }

  remove(
    id: Entity['id'],
    precondition?: Precondition,
    context: ChangeContext = {},
  ): Promise<Entity> {
    return this.change(id, precondition, context, {}, (rows, lockWait) => {
      const query = rows.createQueryBuilder().delete().where({ id }).returning('*');
      if (lockWait !== undefined) query.andWhere(...soon(lockWait));
      return this.recorded(context, query, (records, origin) =>
        records.removing(statementOf(query), origin),
      );
    });
  }

  private async update(
    id: Entity['id'],
    body: object,
    valueOf: (value: unknown) => unknown,
    precondition: Precondition | undefined,
    context: ChangeContext,
  ): Promise<Entity> {
    const members = body as Readonly<Record<string, unknown>>;
    if (members['id'] !== undefined && members['id'] !== id) {
      throw new ServiceException(ERRORS.bodyNotValid, `id must be the id in the path, ${id}`);
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
    const changed = await this.change(id, precondition, context, body, (rows, lockWait) => {
      const query = rows
        .createQueryBuilder()
        .update()
        .set(Object.fromEntries(set) as QueryDeepPartialEntity<Entity>)
        .where({ id })
        .returning('*');
      if (lockWait !== undefined) query.andWhere(...soon(lockWait));
      return this.recorded(context, query, (records, origin) =>
        records.replacing(statementOf(query.andWhere(records.isLocked)), id, origin, lockWait),
      );
    });
    this.options.onChanged?.(changed);
    return changed;
  }

  /** The statement of a query, which also records the change if changes are recorded. */
  private recorded(
    { origin }: ChangeContext,
    query: UpdateQuery<Entity>,
    record: (records: RecordStatements, origin: Origin) => Statement,
  ): Statement {
    const records = this.options.history?.records;
    return records === undefined ? statementOf(query) : record(records, requireOrigin(origin));
  }

  /**
   * @param body the values to store
   * @param statementFor returns the row that it has changed, with all columns. It waits for the lock of the row for so many
   *   milliseconds; by default as long as for other locks
   */
  private async change(
    id: Entity['id'],
    precondition: Precondition | undefined,
    { manager: outer }: ChangeContext,
    body: object,
    statementFor: (rows: Repository<Entity>, lockWait?: number) => Statement,
  ): Promise<Entity> {
    const { entity, dto, notFound, dataSource } = this.options;
    const { rowSlots, transactions, statements } = this.options;
    const columns = this.options.columns();
    const rows = dataSource.getRepository(entity);
    const keys = [rowKey({ table: columns.table, key: columns.key.name }, id)];
    const changeIfSame = (slots?: Semaphore) => {
      const changeLocked = async (manager: EntityManager) => {
        rowSlots.requireFree(keys, slots);
        const where = { id } as FindOptionsWhere<Entity>;
        const row = await manager
          .withRepository(rows)
          .findOne({ where, lock: { mode: 'pessimistic_write' } });
        if (row === null) throw notFound(id);
        if (precondition?.(contentOf(columns.of(dto), row)) === false) {
          throw new ServiceException(ERRORS.preconditionFailed);
        }
        return statements.in(manager).run(statementFor(rows));
      };
      return slots === undefined
        ? transactions.run(changeLocked, outer)
        : transactions.runIn(slots, changeLocked, rowSlots.lockWaitIn(slots));
    };
    const change = (slots?: Semaphore) =>
      slots === undefined
        ? statements.in(outer!).run(statementFor(rows))
        : slots.run(async () => {
            rowSlots.requireFree(keys, slots);
            const lockWait = rowSlots.lockWaitIn(slots);
            const run = () => statements.run(statementFor(rows, lockWait));
            return lockWait === undefined ? run() : beforeRowWait(run);
          });
    const work = precondition === undefined ? change : changeIfSame;
    const result = await withRowErrors(this.options, body, () =>
      outer === undefined ? rowSlots.run(keys, work) : work(),
    );
    const [row] = result.rows as readonly Readonly<Record<string, unknown>>[];
    if (row === undefined) throw notFound(id);
    return columns.entityOf(columns.all.map(({ databaseName }) => row[databaseName])) as Entity;
  }
}

/** The condition, with its parameter, of a statement that does not wait for long. */
function soon(lockWait: number) {
  return [rowWait(':rsLockWait'), { rsLockWait: String(lockWait) }] as const;
}

function statementOf<Entity extends object>(query: UpdateQuery<Entity>): Statement {
  const [text, values] = query.getQueryAndParameters();
  return { text, values };
}
