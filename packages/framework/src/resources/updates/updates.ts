import type { Type } from '@nestjs/common';
import type {
  DataSource,
  DeleteQueryBuilder,
  EntityManager,
  Repository,
  UpdateQueryBuilder,
} from 'typeorm';
import type { QueryDeepPartialEntity } from 'typeorm/query-builder/QueryPartialEntity.js';
import { STORED_TYPES } from '../../database/connections/value-types.js';
import { beforeRowWait, rowWait } from '../../database/lock-waits/row-wait.js';
import type { Semaphore } from '../../database/semaphore.js';
import type { Statement, Statements } from '../../database/statements.js';
import type { Transactions } from '../../database/transactions.js';
import { ERRORS } from '../../errors/common-errors.js';
import { ServiceException } from '../../errors/service.exception.js';
import type { Precondition } from '../../http/answers/entity-tag.js';
import type { ChangeRecorder } from '../recording/change-recorder.js';
import { withRowErrors } from '../properties/constraints.js';
import type { RowErrors } from '../properties/constraints.js';
import { contentOf } from '../properties/entity-columns.js';
import type { IdError } from '../properties/entity-columns.js';
import type { Keyed } from '../properties/key-type.js';
import { rowKey } from '../locks/locked-rows.js';
import { requireOrigin } from '../recording/origin.js';
import type { Origin } from '../recording/origin.js';
import { isLocked, removing, replacing } from './recorded-updates.js';
import type { Recording } from './recorded-updates.js';
import type { RowSlots } from '../locks/row-slots.js';

export interface UpdatesOptions<Entity extends Keyed> extends RowErrors {
  readonly entity: Type<Entity>;
  /** The class whose properties make the entity tag. Only these are changed. */
  readonly dto: Type;
  readonly notFound: IdError<Entity['id']>;
  readonly dataSource: DataSource;
  readonly rowSlots: RowSlots;
  readonly transactions: Transactions;
  readonly statements: Statements;
  readonly recorder?: ChangeRecorder | undefined;
  /** Called with a row that was replaced or patched. */
  readonly onChanged?: (row: Entity) => void;
}

export interface ChangeContext {
  /** The request that its record names. Required if changes are recorded. */
  readonly origin?: Origin;
  /** The change becomes part of the transaction of this manager (docs/framework/transactions.md). */
  readonly manager?: EntityManager;
}

/**
 * Replaces, patches and removes single rows of an entity. A precondition is checked while the row is locked, so that the check
 * sees a concurrent change, or that change waits (docs/decisions/conditional-changes.md).
 *
 * All methods throw ServiceException `notFound`, `precondition-failed`, or `body-not-valid` if the body has another id.
 */
export class Updates<Entity extends Keyed> {
  constructor(private readonly options: UpdatesOptions<Entity>) {}

  /** Replaces all properties; one that the body lacks becomes null. */
  replace(
    id: Entity['id'],
    body: object,
    precondition?: Precondition,
    context: ChangeContext = {},
  ): Promise<Entity> {
    return this.update(id, body, (value) => value ?? null, precondition, context);
  }

  /** Changes the properties that a JSON Merge Patch has; null removes one (RFC 7396). */
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
      const query = rows.createQueryBuilder().delete().where({ id });
      const recording = this.recording(context);
      const statement = statementOf(query, lockWait);
      return recording === undefined ? statement : removing(statement, recording);
    });
  }

  private async update(
    id: Entity['id'],
    body: object,
    valueOf: (value: unknown) => unknown,
    precondition: Precondition | undefined,
    context: ChangeContext,
  ): Promise<Entity> {
    const fields = body as Readonly<Record<string, unknown>>;
    if (fields['id'] !== undefined && fields['id'] !== id) {
      throw new ServiceException(ERRORS.bodyNotValid, `id must be the id in the path, ${id}`);
    }
    const columns = this.options.columns();
    const { changeable, key } = columns;
    // Columns that the DTO lacks are hidden from clients.
    const values = changeable
      .filter((column) => columns.of(this.options.dto).includes(column))
      .map((column) => [column, valueOf(fields[column.property])] as const)
      .filter(([, value]) => value !== undefined);
    const prepared: Record<string, unknown> = {};
    const set = values.map(([column, value], at): readonly [string, unknown] => {
      const parameter = column.toParameter(value);
      if (!column.isPrepared) return [column.property, value];
      prepared[`rsPrepared${at}`] = parameter;
      return [column.property, () => `:rsPrepared${at}`];
    });
    // The statement writes even without a change, so that its commit waits for standbys.
    const { property, name } = changeable[0] ?? key;
    if (set.length === 0) set.push([property, () => name]);
    const changed = await this.change(id, precondition, context, body, (rows, lockWait) => {
      const query = rows
        .createQueryBuilder()
        .update()
        .set(Object.fromEntries(set) as QueryDeepPartialEntity<Entity>)
        .where({ id })
        .setParameters(prepared);
      const recording = this.recording(context);
      if (recording === undefined) return statementOf(query, lockWait);
      const statement = statementOf(query, lockWait, isLocked(columns));
      return replacing(statement, columns, id, recording, lockWait);
    });
    this.options.onChanged?.(changed);
    return changed;
  }

  /** `undefined`: changes are not recorded. */
  private recording({ origin }: ChangeContext): Recording | undefined {
    const records = this.options.recorder?.statements;
    return records && { records, origin: requireOrigin(origin) };
  }

  private locking(id: Entity['id']): Statement {
    const { table, key, all } = this.options.columns();
    const names = all.map(({ name }) => name).join(', ');
    return {
      text: `SELECT ${names} FROM ${table} WHERE ${key.name} = $1 FOR UPDATE`,
      values: [String(id)],
      types: STORED_TYPES,
    };
  }

  /**
   * @param statementFor returns the changed row with all columns. `lockWait` is the timeout for its lock, in milliseconds, by
   *   default the timeout of other locks
   */
  private async change(
    id: Entity['id'],
    precondition: Precondition | undefined,
    { manager: outer }: ChangeContext,
    body: object,
    statementFor: (rows: Repository<Entity>, lockWait?: number) => Statement,
  ): Promise<Entity> {
    const { entity, dto, notFound, dataSource, rowSlots, transactions, statements } = this.options;
    const columns = this.options.columns();
    const rows = dataSource.getRepository(entity);
    const keys = [rowKey({ table: columns.table, key: columns.key.name }, id)];
    const changeIfSame = (slots?: Semaphore) => {
      const changeLocked = async (manager: EntityManager) => {
        rowSlots.requireFree(keys, slots);
        const session = statements.in(manager);
        const [row] = await session.rows<readonly unknown[]>(this.locking(id));
        if (row === undefined) throw notFound(id);
        if (precondition?.(contentOf(columns.of(dto), columns.entityOf(row))) === false) {
          throw new ServiceException(ERRORS.preconditionFailed);
        }
        return session.run(statementFor(rows));
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

/** Adds the conditions to the text, because TypeORM would take words in them for properties. */
function statementOf<Entity extends object>(
  query: UpdateQueryBuilder<Entity> | DeleteQueryBuilder<Entity>,
  lockWait?: number,
  condition?: string,
): Statement {
  const [text, values] = query.getQueryAndParameters();
  const isSoon = lockWait === undefined ? '' : ` AND ${rowWait(`$${values.length + 1}`)}`;
  return {
    text: `${text}${isSoon}${condition === undefined ? '' : ` AND ${condition}`} RETURNING *`,
    values: lockWait === undefined ? values : [...values, String(lockWait)],
    types: STORED_TYPES,
  };
}
