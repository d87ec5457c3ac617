import type { Type } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { STORED_TYPES } from '../../database/connections/value-types.js';
import { rowWait, withRowWait } from '../../database/lock-waits/row-wait.js';
import type { Semaphore } from '../../database/semaphore.js';
import { prepared } from '../../database/statements.js';
import type { Statement } from '../../database/statements.js';
import type { RecordStatements } from '../recording/change-recorder.js';
import { withRowErrors } from '../properties/constraints.js';
import type { Shared } from '../locks/shared.js';
import { contentOf } from '../properties/entity-columns.js';
import type { EntityColumns, RowParameters } from '../properties/entity-columns.js';
import { tableOf, valuesOf } from '../creates/create-statements.js';
import { partsOf, requireFewRows, requireShortRows, unread } from '../creates/many-rows.js';
import type { UnreadRows } from '../creates/many-rows.js';
import { findLocked, neededKeys } from '../locks/locked-rows.js';
import type { Idempotency } from '../idempotency/idempotency.js';
import { actorOf, actorParameters, requireActor } from '../recording/actor.js';
import type { Actor } from '../recording/actor.js';
import type { ChangeContext } from '../updates/updates.js';
import { TakenIds } from './taken-ids.js';

/** What `create` takes besides the content, if the database makes the ids. */
export interface CreateContext extends ChangeContext {
  /**
   * Of a request that was performed before, the result is returned, and nothing is created. It needs an actor, and is not for a
   * create in a transaction.
   */
  readonly idempotencyKey?: string | undefined;
}

interface GeneratedCreateOptions<Dto> extends Shared {
  readonly dto: Type<Dto>;
  /** `undefined`: no create has an idempotency key. */
  readonly idempotency: Idempotency | undefined;
  readonly onCreated: (created: readonly Dto[]) => void;
}

class TakenIdError extends Error {}

const KEY_IN_TRANSACTION =
  'a create in a transaction takes no idempotency key: do the whole work with Idempotency.once()';

const KEY_WITHOUT_MODULE = 'a create with an idempotency key needs IdempotencyModule';

/** Creates rows of an entity whose ids the database makes, each in a transaction of its own. */
export class GeneratedCreate<Dto extends object> {
  private sql: ReturnType<typeof prepared> | undefined;
  private readonly takenIds: TakenIds;

  constructor(private readonly options: GeneratedCreateOptions<Dto>) {
    this.takenIds = new TakenIds(options);
  }

  /**
   * Resolves when the row is committed, or in the transaction of a manager when it is stored.
   *
   * @throws ServiceException `idempotency-key-reused`, or any error of the database, after which, without an idempotency key,
   *   the row may be stored
   */
  async create(given: object, context: CreateContext) {
    const { manager: outer, idempotencyKey: key } = context;
    const actor = actorOf(context);
    const { dto, statements, rowSlots, idempotency, onCreated } = this.options;
    const columns = this.options.columns();
    const content = columns.complete(given);
    const parameters = columns.parametersOf(content);
    const insert = async (within?: EntityManager, lockWait: string | null = null) => {
      const session = within === undefined ? statements : statements.in(within);
      const statement = this.statementOf(columns, parameters, actor, lockWait);
      const store = async () => (await session.run(statement)).rows[0];
      const row = await this.takenIds.skip(store, within);
      const values = columns.all.map(({ databaseName }): unknown => row[databaseName]);
      return contentOf(columns.of(dto), columns.entityOf(values)) as Dto;
    };
    if (outer !== undefined) {
      if (key !== undefined) throw new TypeError(KEY_IN_TRANSACTION);
      return withRowErrors(this.options, content, () => insert(outer));
    }
    const needed = {
      keys: neededKeys(columns, parameters),
      findLocked: () => findLocked(statements, columns, [parameters]),
    };
    if (key === undefined) {
      const perform = (slots: Semaphore) =>
        slots.run(async () => {
          rowSlots.requireFree(needed.keys, slots);
          return withRowWait(rowSlots.lockWaitIn(slots), (lockWait) => insert(undefined, lockWait));
        });
      const created = await withRowErrors(this.options, content, () =>
        rowSlots.run(needed.keys, perform, needed.findLocked),
      );
      onCreated([created]);
      return created;
    }
    const request = {
      key,
      operation: `create ${columns.tableName}`,
      actor: requireActor(actor),
      content: columns.sent(content),
    };
    if (idempotency === undefined) throw new TypeError(KEY_WITHOUT_MODULE);
    let created: Dto | undefined;
    const result = await withRowErrors(this.options, content, () =>
      idempotency.once(request, dto, async (manager) => (created = await insert(manager)), needed),
    );
    // Otherwise, another request was first.
    if (result === created) onCreated([result]);
    return result;
  }

  async createMany(
    contents: readonly object[],
    { manager: outer, ...context }: ChangeContext,
  ): Promise<readonly Dto[]> {
    requireFewRows(contents);
    const { dto, transactions, onCreated } = this.options;
    const columns = this.options.columns();
    const rows = contents.map((content) => columns.parametersOf(columns.complete(content)));
    requireShortRows(columns, rows);
    const work = async (manager: EntityManager) => {
      const inserted: UnreadRows[] = [];
      for (const part of partsOf(rows)) {
        inserted.push(await this.insertMany(part, actorOf(context), manager));
      }
      return inserted;
    };
    // PostgreSQL does not say which row it rejects.
    const stored = await withRowErrors(this.options, {}, () => transactions.run(work, outer));
    const created = stored
      .flatMap((part) => part.read())
      .map((row) => contentOf(columns.of(dto), columns.entityOf(row)) as Dto);
    if (outer === undefined) onCreated(created);
    return created;
  }

  /** A savepoint takes back the other rows of a statement if an id is taken. */
  private insertMany(
    rows: readonly RowParameters[],
    actor: Actor | undefined,
    outer: EntityManager,
  ): Promise<UnreadRows> {
    const { statements, recorder } = this.options;
    const columns = this.options.columns();
    const { given, hasArrays } = columns;
    const isListed = hasArrays || given.length === 0;
    const values = valuesOf(given, rows, isListed);
    const records = recorder?.statements;
    const recorded = records === undefined ? [] : actorParameters(requireActor(actor));
    const text = textOf(columns, records, {
      from: tableOf(given, rows.length, isListed),
      count: values.length,
    });
    const statement = { text, values: [...values, ...recorded, null] };
    const insert = async (manager: EntityManager) => {
      const stored = await unread(statements.in(manager), statement);
      if (stored.count < rows.length) throw new TakenIdError();
      return stored;
    };
    return this.takenIds.skip(async () => {
      try {
        return await outer.transaction(insert);
      } catch (error) {
        if (error instanceof TakenIdError) return undefined;
        throw error;
      }
    }, outer);
  }

  private statementOf(
    columns: EntityColumns,
    parameters: RowParameters,
    actor: Actor | undefined,
    lockWait: string | null,
  ): Statement {
    const records = this.options.recorder?.statements;
    const recorded = records === undefined ? [] : actorParameters(requireActor(actor));
    this.sql ??= prepared(textOf(columns, records));
    return { ...this.sql, types: STORED_TYPES, values: [...parameters, ...recorded, lockWait] };
  }
}

/** The rows `rs__t` in SQL, and how many parameters they have. */
interface ManyRows {
  readonly from: string;
  readonly count: number;
}

/** Stores, records and returns rows, without those whose id is taken. The last parameter is for {@link rowWait}. */
function textOf(
  { table, key, given, names }: EntityColumns,
  records: RecordStatements | undefined,
  many?: ManyRows,
): string {
  const cells = many
    ? given.map(({ name }) => `rs__t.${name}`)
    : given.map(({ type }, at) => `$${at + 1}::${type}`);
  const count = many?.count ?? given.length;
  const into = given.length === 0 ? '' : `(${given.map(({ name }) => name).join(', ')})`;
  const wait = rowWait(`$${count + (records === undefined ? 1 : 3)}`);
  const [from, order] = many ? [`FROM ${many.from} `, ' ORDER BY rs__n'] : ['', ''];
  const insert = `INSERT INTO ${table} ${into} SELECT ${cells.join(', ')} ${from}WHERE ${wait}${order} ON CONFLICT (${key.name}) DO NOTHING RETURNING ${names}`;
  if (records === undefined) return insert;
  const record = records.insert({
    kind: 'created',
    row: 'rs__stored',
    from: 'rs__stored',
    actor: [`$${count + 1}::text`, `$${count + 2}::text`],
  });
  return `WITH rs__stored AS (${insert}), rs__recorded AS (${record}) SELECT ${names} FROM rs__stored`;
}
