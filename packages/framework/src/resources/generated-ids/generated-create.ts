import type { Type } from '@nestjs/common';
import type { Semaphore } from '../../database/semaphore.js';
import type { Statement, Statements } from '../../database/statements.js';
import { withConstraintErrors } from '../constraints.js';
import type { ConstraintErrors } from '../constraints.js';
import { preparedAs } from '../create-statements.js';
import { contentOf } from '../entity-columns.js';
import type { EntityColumns } from '../entity-columns.js';
import type { History } from '../history/history.js';
import { requireOrigin } from '../history/origin.js';
import type { Origin } from '../history/origin.js';
import { originParameters } from '../history/record-statements.js';
import type { RecordStatements } from '../history/record-statements.js';
import type { Idempotency } from '../idempotency/idempotency.js';
import { neededKeys } from '../locked-rows.js';
import type { RowSlots } from '../row-slots.js';
import type { ChangeContext } from '../updates.js';

/** What a create belongs to. */
export interface CreateContext extends ChangeContext {
  /** If the same request was performed before, its answer is returned, and nothing is created. Needs an origin. */
  readonly idempotencyKey?: string | undefined;
}

export interface GeneratedCreateOptions<Dto> {
  /** The name of the resource. */
  readonly name: string;
  /** Known when the database is connected. */
  readonly columns: () => EntityColumns;
  /** The class with all members. */
  readonly dto: Type<Dto>;
  readonly constraints: ConstraintErrors;
  readonly statements: Statements;
  readonly rowSlots: RowSlots;
  readonly idempotency: Idempotency;
  /** Where creates are recorded, if they are. */
  readonly history?: History | undefined;
  /** Called after a commit. */
  readonly onCreated: (created: readonly Dto[]) => void;
}

/** Creates rows of an entity whose ids the database makes, each in a transaction of its own. */
export class GeneratedCreate<Dto extends object> {
  private sql: string | undefined;

  constructor(private readonly options: GeneratedCreateOptions<Dto>) {}

  /**
   * Resolves when the row is committed, or in the transaction of a manager when it is stored.
   *
   * @returns the members of the stored row
   * @throws ServiceException `idempotency-key-reused`, or as after any failure of the database. Without an idempotency key,
   *   the row may have been stored then
   */
  async create(content: object, { manager: outer, origin, idempotencyKey: key }: CreateContext) {
    const { name, dto, constraints, statements, rowSlots, idempotency, onCreated } = this.options;
    const columns = this.options.columns();
    const statement = this.statementOf(columns, content, origin);
    const needed = neededKeys(columns, columns.parametersOf(content));
    let created: Dto | undefined;
    const insert = async (session: Pick<Statements, 'rows'>, slots?: Semaphore) => {
      rowSlots.requireFree(needed, slots);
      const [row] = await session.rows(statement);
      created = contentOf(columns.of(dto), columns.entityOf(row!)) as Dto;
      return created;
    };
    const insertOnce = (slots?: Semaphore) =>
      idempotency.once(
        { key, operation: `create ${name}`, origin: requireOrigin(origin), content },
        dto,
        (manager) => insert(statements.in(manager), slots),
        { manager: outer, slots },
      );
    const perform = (slots?: Semaphore) => {
      if (key !== undefined) return insertOnce(slots);
      return slots === undefined
        ? insert(statements.in(outer!))
        : slots.run(() => insert(statements, slots));
    };
    const result = await withConstraintErrors(constraints, () =>
      outer === undefined ? rowSlots.run(needed, perform) : perform(),
    );
    if (result === created && outer === undefined) onCreated([result]);
    return result;
  }

  private statementOf(
    columns: EntityColumns,
    content: object,
    origin: Origin | undefined,
  ): Statement {
    const records = this.options.history?.records;
    const parameters = columns.parametersOf(content);
    this.sql ??= textOf(columns, records);
    return {
      ...preparedAs(`insert-generated-${columns.tableName}`),
      text: this.sql,
      values:
        records === undefined
          ? [...parameters]
          : [...parameters, ...originParameters(requireOrigin(origin))],
    };
  }
}

/** Stores a row, records it, and returns it with all columns. */
function textOf({ table, given, all }: EntityColumns, records?: RecordStatements): string {
  const names = all.map(({ name }) => name).join(', ');
  const parameters = given.map((_, at) => `$${at + 1}`);
  const values =
    given.length === 0
      ? 'DEFAULT VALUES'
      : `(${given.map(({ name }) => name).join(', ')}) VALUES (${parameters.join(', ')})`;
  const insert = `INSERT INTO ${table} ${values} RETURNING ${names}`;
  if (records === undefined) return insert;
  const origin = [1, 2].map((offset) => `$${given.length + offset}::text`);
  const record = records.insert('created', 'stored', origin, 'stored');
  return `WITH stored AS (${insert}), recorded AS (${record}) SELECT ${names} FROM stored`;
}
