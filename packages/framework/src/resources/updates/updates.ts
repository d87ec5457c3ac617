import type { Type } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { STORED_TYPES } from '../../database/connections/value-types.js';
import { rowWait, withRowWait } from '../../database/lock-waits/row-wait.js';
import type { Semaphore } from '../../database/semaphore.js';
import type { Statement, Statements } from '../../database/statements.js';
import { ERRORS } from '../../errors/common-errors.js';
import { ServiceException } from '../../errors/service.exception.js';
import type { Precondition } from '../../http/responses/entity-tag.js';
import { withRowErrors } from '../properties/constraints.js';
import { requireFewBytes, requireFewRows, unread } from '../creates/many-rows.js';
import type { Shared } from '../locks/shared.js';
import { contentOf } from '../properties/entity-columns.js';
import type { IdError } from '../properties/entity-columns.js';
import { storedKey } from '../properties/key-type.js';
import type { Keyed } from '../properties/key-type.js';
import { rowKey } from '../locks/locked-rows.js';
import type { BindParameter, UsedFilter } from '../reads/page-query.js';
import type { Visibility } from '../reads/visibility.js';
import { actorOf, actorParameters, requireActor } from '../recording/actor.js';
import type { Actor, ActorOption } from '../recording/actor.js';
import type { ChangedRows } from '../recording/change-recorder.js';

interface UpdatesOptions<Entity extends Keyed> extends Omit<Shared, 'tracer' | 'logger'> {
  /** The class whose properties make the entity tag. Only these are changed. */
  readonly dto: Type;
  readonly notFound: IdError<Entity['id']>;
  readonly visibility: Visibility;
  /** Called with a row that was written. */
  readonly onChanged?: (row: Entity) => void;
}

/** Who makes a change, and in which transaction. */
export interface ChangeContext extends ActorOption {
  /** The change becomes part of the transaction of this manager (docs/framework/transactions.md). */
  readonly manager?: EntityManager;
}

/** What `replace`, `patch` and `remove` take besides the id and the content. */
export interface UpdateContext extends ChangeContext {
  /** The change is made only if the stored row meets it. */
  readonly precondition?: Precondition | undefined;
}

interface Change {
  /** `created`: a removed row is restored. */
  readonly kind: ChangedRows['kind'];
  readonly text: string;
  readonly values: readonly unknown[];
}

/**
 * Replaces, patches, removes and restores single rows of an entity. A precondition is checked while the row is locked, so that the check
 * sees a concurrent change, or that change waits (docs/decisions/conditional-changes.md).
 *
 * All methods throw ServiceException `notFound`, `precondition-failed`, or `body-not-valid` if the body has another id.
 */
export class Updates<Entity extends Keyed> {
  constructor(private readonly options: UpdatesOptions<Entity>) {}

  replace(id: Entity['id'], body: object, context: UpdateContext = {}): Promise<Entity> {
    const replaced = this.options.columns().replacedBy(body);
    const valueOf = (value: unknown, property: string) => value ?? replaced.get(property);
    return this.update(id, body, valueOf, context);
  }

  patch(id: Entity['id'], body: object, context: UpdateContext = {}): Promise<Entity> {
    return this.update(id, body, (value) => value, context);
  }

  async patchMany(
    ids: readonly Entity['id'][],
    body: object,
    context: ChangeContext = {},
  ): Promise<readonly Entity[]> {
    if ('id' in body) throw new ServiceException(ERRORS.bodyNotValid, 'id cannot be changed');
    if (ids.length === 0) return [];
    requireFewRows(ids);
    const { transactions, statements, visibility, onChanged } = this.options;
    const columns = this.options.columns();
    const visible = visibility.filtersFor(context);
    const change = this.replacing(body, (value) => value);
    const statement = this.statementOf(change, ids, actorOf(context), null, visible);
    // Rows are read when it is known how long they are, and nobody else can change them.
    const work = async (manager: EntityManager) => {
      const session = statements.in(manager);
      const found = await session.rows<readonly [id: string, bytes: string]>(statement);
      requireFewBytes(found.map(([, bytes]) => Number(bytes)));
      return unread(session, this.reading(found.map(([id]) => id)));
    };
    const rows = await withRowErrors(this.options, body, () =>
      transactions.run(work, context.manager),
    );
    const changed = rows.read().map((row) => columns.entityOf(row) as Entity);
    for (const row of changed) onChanged?.(row);
    const byId = new Map(changed.map((row) => [row.id, row]));
    return [...new Set(ids.map(storedKey))].flatMap((id) => byId.get(id) ?? []);
  }

  async remove(id: Entity['id'], context: UpdateContext = {}): Promise<void> {
    const { table, removedAt } = this.options.columns();
    if (removedAt === undefined) {
      const text = `DELETE FROM ${table}`;
      await this.change(id, {}, { kind: 'removed', text, values: [] }, context);
    } else {
      const change = this.writing('removed', [`${removedAt.name} = CURRENT_TIMESTAMP`]);
      await this.write(id, {}, change, context);
    }
  }

  restore(id: Entity['id'], context: UpdateContext = {}): Promise<Entity> {
    const { table, removedAt } = this.options.columns();
    if (removedAt === undefined) {
      throw new TypeError(`${table} keeps no removed rows: its entity has no @DeleteDateColumn()`);
    }
    const change = this.writing('created', [`${removedAt.name} = NULL`]);
    return this.write(id, {}, change, context);
  }

  private async update(
    id: Entity['id'],
    body: object,
    valueOf: (value: unknown, property: string) => unknown,
    context: UpdateContext,
  ): Promise<Entity> {
    const { id: given } = body as Partial<Keyed>;
    if (given !== undefined && storedKey(given) !== storedKey(id)) {
      throw new ServiceException(ERRORS.bodyNotValid, `id must be the id in the path, ${id}`);
    }
    return this.write(id, body, this.replacing(body, valueOf), context);
  }

  private replacing(body: object, valueOf: (value: unknown, property: string) => unknown): Change {
    const fields = body as Readonly<Record<string, unknown>>;
    const columns = this.options.columns();
    const { changeable, key } = columns;
    // Columns that the DTO lacks are hidden from clients.
    const shown = columns.of(this.options.dto);
    const values: unknown[] = [];
    const set: string[] = [];
    for (const column of changeable) {
      const value = valueOf(fields[column.property], column.property);
      if (value === undefined || !shown.includes(column)) continue;
      set.push(`${column.name} = $${values.push(column.toParameter(value))}`);
    }
    // The statement writes even without a change, so that its commit waits for standbys.
    const { name } = changeable[0] ?? key;
    if (set.length === 0) set.push(`${name} = ${name}`);
    return this.writing('replaced', set, values);
  }

  private writing(
    kind: Change['kind'],
    set: readonly string[],
    values: readonly unknown[] = [],
  ): Change {
    const { table, changed, removedAt } = this.options.columns();
    const others = changed.map(({ name, value }) =>
      // A row that is not removed stays as it is.
      kind === 'created'
        ? `${name} = CASE WHEN ${removedAt!.name} IS NULL THEN ${name} ELSE ${value} END`
        : `${name} = ${value}`,
    );
    return { kind, text: `UPDATE ${table} SET ${[...set, ...others].join(', ')}`, values };
  }

  private async write(
    id: Entity['id'],
    body: object,
    change: Change,
    context: UpdateContext,
  ): Promise<Entity> {
    const row = await this.change(id, body, change, context);
    this.options.onChanged?.(row);
    return row;
  }

  private async change(
    id: Entity['id'],
    body: object,
    change: Change,
    context: UpdateContext,
  ): Promise<Entity> {
    const { dto, notFound, rowSlots, transactions, statements, visibility } = this.options;
    const { precondition, manager: outer } = context;
    const columns = this.options.columns();
    const visible = visibility.filtersFor(context);
    const keys = [rowKey({ table: columns.table, key: columns.key.name }, storedKey(id))];
    const run = (session: Pick<Statements, 'rows'>, lockWait: string | null = null) =>
      session.rows<readonly unknown[]>(
        this.statementOf(change, id, actorOf(context), lockWait, visible),
      );
    const changeIfSame = (slots?: Semaphore) => {
      const changeLocked = async (manager: EntityManager) => {
        rowSlots.requireFree(keys, slots);
        const session = statements.in(manager);
        const [row] = await session.rows<readonly unknown[]>(this.locking(change, id, visible));
        if (row === undefined) throw notFound(id);
        if (precondition?.(contentOf(columns.of(dto), columns.entityOf(row))) === false) {
          throw new ServiceException(ERRORS.preconditionFailed);
        }
        return run(session);
      };
      return slots === undefined
        ? transactions.run(changeLocked, outer)
        : transactions.runIn(slots, changeLocked, rowSlots.lockWaitIn(slots));
    };
    const changeAnyway = (slots?: Semaphore) =>
      slots === undefined
        ? run(statements.in(outer!))
        : slots.run(() => {
            rowSlots.requireFree(keys, slots);
            return withRowWait(rowSlots.lockWaitIn(slots), (wait) => run(statements, wait));
          });
    const work = precondition === undefined ? changeAnyway : changeIfSame;
    const [row] = await withRowErrors(this.options, body, () =>
      outer === undefined ? rowSlots.run(keys, work) : work(),
    );
    if (row === undefined) throw notFound(id);
    return columns.entityOf(row) as Entity;
  }

  private locking(change: Change, id: Entity['id'], visible: readonly UsedFilter[]): Statement {
    const { table, names } = this.options.columns();
    const values: unknown[] = [String(id)];
    const isWanted = this.conditionsOf(change, '$1', visible, values);
    return {
      text: `SELECT ${names} FROM ${table} WHERE ${isWanted} FOR UPDATE`,
      values,
      types: STORED_TYPES,
    };
  }

  private reading(ids: readonly string[]): Statement {
    const { table, key, names } = this.options.columns();
    const text = `SELECT ${names} FROM ${table} WHERE ${key.name} = ANY ($1::${key.type}[])`;
    return { text, values: [ids] };
  }

  /** Changes a row, records the change, and returns the row with all columns; of many rows, their ids and lengths. */
  private statementOf(
    change: Change,
    id: Entity['id'] | readonly Entity['id'][],
    actor: Actor | undefined,
    lockWait: string | null,
    visible: readonly UsedFilter[],
  ): Statement {
    const { kind, text, values: given } = change;
    const { table, key, names, bytes, removedAt } = this.options.columns();
    const records = this.options.recorder?.statements;
    const isOne = !Array.isArray(id);
    const returned = isOne ? names : `${key.name}, ${bytes}`;
    const values = [...given, isOne ? String(id) : id.map(String), lockWait];
    const parameter = `$${given.length + 1}`;
    const isId = isOne ? parameter : `ANY (${parameter}::${key.type}[])`;
    const isFound = this.conditionsOf(change, isId, visible, values);
    const isWanted = `${isFound} AND ${rowWait(`$${given.length + 2}`)}`;
    if (records === undefined) {
      const written = `${text} WHERE ${isWanted} RETURNING ${returned}`;
      return { text: written, values, types: STORED_TYPES };
    }
    const isWritten = kind !== 'removed';
    const record = records.insert({
      kind,
      row: 'rs__changed',
      from: isWritten ? `rs__changed JOIN rs__before USING (${key.name})` : 'rs__changed',
      ...(kind === 'replaced' && { before: 'rs__before' }),
      ...(kind === 'created' && { condition: `rs__before.${removedAt!.name} IS NOT NULL` }),
      actor: [`$${values.length + 1}::text`, `$${values.length + 2}::text`],
    });
    // Its lock waits for concurrent changes, and returns their result. Locks in one order cannot deadlock.
    const before = `rs__before AS MATERIALIZED (SELECT * FROM ${table} WHERE ${isWanted} ORDER BY ${key.name} FOR UPDATE), `;
    const isLocked = isWritten ? ` AND ${key.name} IN (SELECT ${key.name} FROM rs__before)` : '';
    return {
      text: `WITH ${isWritten ? before : ''}rs__changed AS (${text} WHERE ${isWanted}${isLocked} RETURNING *),
        rs__recorded AS (${record}) SELECT ${returned} FROM rs__changed`,
      values: [...values, ...actorParameters(requireActor(actor))],
      types: STORED_TYPES,
    };
  }

  private conditionsOf(
    { kind }: Change,
    id: string,
    visible: readonly UsedFilter[],
    values: unknown[],
  ): string {
    const { key, notRemoved } = this.options.columns();
    const parameter: BindParameter = (value) => `$${values.push(value)}`;
    return [
      `${key.name} = ${id}`,
      ...(kind === 'created' ? [] : notRemoved),
      ...visible.map(([filter, value]) => filter.where(value, parameter, '', '')),
    ].join(' AND ');
  }
}
