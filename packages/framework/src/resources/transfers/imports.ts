import type { Type } from '@nestjs/common';
import type { Logger } from 'pino';
import { Rejected } from '../../database/waiting-item.js';
import { isCausedByRow } from '../../database/database-error.js';
import type { Semaphore } from '../../database/semaphore.js';
import type { ErrorDto } from '../../http/errors/error.dto.js';
import { toErrorResponse } from '../../http/errors/to-error-response.js';
import type { BodyLine } from '../../http/body/body-lines.js';
import { lineToDto, toLine } from '../../http/body/ndjson.js';
import { RepeatedErrors } from '../../observability/repeated-errors.js';
import type { Tracer } from '../../observability/tracer.js';
import type { Identified } from '../properties/entity-columns.js';
import type { GroupCreate } from '../creates/group-create.js';
import { isSame } from '../creates/group-insert.js';
import type { Row, Stored } from '../creates/group-insert.js';
import { inOrder } from './in-order.js';
import type { Window } from './in-order.js';
import type { Actor } from '../recording/actor.js';
import { isTemporary, retried } from './retried.js';

/**
 * Limits of the lines that wait for the database: of all imports together, half of the queue, and of each import while single
 * creates arrive, which wait behind them.
 */
export const WINDOW = { items: 512, besideCreates: 16, bytes: 1024 * 1024 };

/** The age up to which a single create counts as arriving, in milliseconds. */
const RECENT = 1_000;

interface RejectedLine extends ErrorDto {
  readonly line: number;
}

interface Storing<Content> {
  readonly row: Row<Content>;
  /** The results of its group. */
  readonly group: Promise<readonly (Stored | Rejected)[]>;
  /** Its place in the group. */
  readonly at: number;
}

type StoringById<Content> = Map<bigint, Storing<Content>>;

type Store<Content> = (rows: readonly Row<Content>[]) => Promise<readonly (Stored | Rejected)[]>;

export interface ImportsOptions<Content extends Identified> {
  readonly dto: Type<Content>;
  readonly creates: GroupCreate<Content>;
  readonly slots: Semaphore;
  readonly tracer: Tracer;
  readonly logger: Logger;
}

export class Imports<Content extends Identified> {
  private readonly window: Window<BodyLine> = {
    items: () => {
      const { creates, slots } = this.options;
      const isBeside = creates.sinceCreate < RECENT;
      return isBeside ? WINDOW.besideCreates : Math.floor(WINDOW.items / slots.used);
    },
    size: WINDOW.bytes,
    sizeOf: ({ length }) => length,
  };

  private readonly repeated = new RepeatedErrors();

  constructor(private readonly options: ImportsOptions<Content>) {}

  /**
   * Creates a row for each line, in groups together with single creates. Of lines with one id, the first wins. The statements, of
   * which there can be thousands, do not appear in traces.
   *
   * @param signal ends the import, which throws its reason if lines are left
   * @param actor required if creates are recorded
   * @returns the lines of the response, several at a time: each rejected line, and at the end a summary
   * @throws ServiceException if the import cannot go on
   */
  async *run(
    lines: AsyncIterable<readonly BodyLine[]>,
    signal: AbortSignal,
    actor?: Actor,
  ): AsyncGenerator<string> {
    const giveBack = this.options.slots.take();
    const storing: StoringById<Content> = new Map();
    const summary = { created: 0, unchanged: 0, refused: 0 };
    const store = (rows: readonly Row<Content>[]) => this.store(rows, signal);
    const create = (some: readonly BodyLine[]) => this.create(some, actor, storing, store);
    try {
      for await (const results of inOrder(lines, this.window, create, signal)) {
        let rejected = '';
        for (const result of results) {
          if (typeof result !== 'string') rejected += toLine(result);
          summary[typeof result === 'string' ? result : 'refused'] += 1;
        }
        if (rejected !== '') yield rejected;
      }
    } catch (error) {
      signal.throwIfAborted();
      throw error;
    } finally {
      giveBack();
    }
    yield toLine(summary);
  }

  private async create(
    lines: readonly BodyLine[],
    actor: Actor | undefined,
    storing: StoringById<Content>,
    store: Store<Content>,
  ): Promise<readonly (Stored | RejectedLine | Rejected)[]> {
    const { creates, dto } = this.options;
    const rows: Row<Content>[] = [];
    // Begins when all lines are parsed.
    const group = Promise.resolve(rows).then(store);
    const parsed = lines.map((line): Storing<Content> | Rejected => {
      try {
        const row = creates.rowOf(lineToDto(dto, line), actor);
        const earlier = storing.get(row.content.id);
        const one =
          earlier === undefined
            ? { row, group, at: rows.push(row) - 1 }
            : { row, group: storeAfter(earlier, row, store), at: 0 };
        storing.set(row.content.id, one);
        return one;
      } catch (error) {
        return new Rejected(error);
      }
    });
    const stored = await group;
    const results: (Stored | RejectedLine | Rejected)[] = [];
    for (const [index, one] of parsed.entries()) {
      // Without a promise for each line.
      const result =
        one instanceof Rejected ? one : (one.group === group ? stored : await one.group)[one.at]!;
      results.push(result instanceof Rejected ? this.rejected(lines[index]!, result) : result);
      if (one instanceof Rejected) continue;
      const { id } = one.row.content;
      if (storing.get(id) === one) storing.delete(id);
    }
    return results;
  }

  /** Retries what may succeed later. Never rejects: nobody waits for some of its promises. */
  private async store(
    rows: readonly Row<Content>[],
    signal: AbortSignal,
  ): Promise<readonly (Stored | Rejected)[]> {
    const { creates, tracer } = this.options;
    const results: (Stored | Rejected)[] = [];
    let open = rows.map((_, at) => at);
    try {
      await retried(signal, async () => {
        const some = open.map((at) => rows[at]!);
        const stored = await tracer.serving([], () => creates.createMany(some));
        for (const [index, at] of open.entries()) results[at] = stored[index]!;
        open = open.filter((at) => isTemporary((results[at] as Partial<Rejected>).reason));
        const [first] = open;
        if (first !== undefined) throw (results[first] as Rejected).reason;
      });
    } catch (error) {
      for (const at of open) results[at] = new Rejected(error);
    }
    return results;
  }

  /** @returns the line of the response, or `result` if it ends the import */
  private rejected({ number }: BodyLine, result: Rejected): RejectedLine | Rejected {
    const { reason } = result;
    const isOfRow = isCausedByRow(reason);
    const { status, body } = toErrorResponse(reason);
    if (status >= 500 && !isOfRow) return result;
    if (isOfRow) this.report(reason);
    return { line: number, error: body.error, message: body.message };
  }

  /** Not each line: a million may be rejected for one reason. */
  private report(error: Error): void {
    const repeated = this.repeated.note(error, 'import');
    if (repeated === undefined) return;
    const context = { err: error, ...(repeated > 0 && { repeated }) };
    this.options.logger.error(context, 'the database rejected a line');
  }
}

/** Stores a row with the id of a row that is being stored. */
async function storeAfter<Content>(
  earlier: Storing<Content>,
  row: Row<Content>,
  store: Store<Content>,
): Promise<readonly (Stored | Rejected)[]> {
  const result = (await earlier.group)[earlier.at]!;
  if (!isSame(earlier.row.parameters, row.parameters)) return store([row]);
  return [result instanceof Rejected ? result : 'unchanged'];
}
