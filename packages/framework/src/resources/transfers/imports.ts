import type { Type } from '@nestjs/common';
import type { Logger } from 'pino';
import { isCausedByRow } from '../../database/database-error.js';
import type { Semaphore } from '../../database/semaphore.js';
import type { ErrorDto } from '../../http/errors/error.dto.js';
import { toErrorResponse } from '../../http/errors/to-error-response.js';
import type { Line } from '../../http/body/body-lines.js';
import { lineToDto, toLine } from '../../http/body/ndjson.js';
import { RepeatedErrors } from '../../observability/repeated-errors.js';
import type { Tracer } from '../../observability/tracer.js';
import type { Identified } from '../properties/entity-columns.js';
import type { GroupCreate } from '../creates/group-create.js';
import type { Stored } from '../creates/group-insert.js';
import { inOrder } from './in-order.js';
import type { Window } from './in-order.js';
import type { Actor } from '../recording/actor.js';
import { retried } from './retried.js';

/**
 * Limits of the lines of an import that wait for the database. Single creates wait behind them, so there are fewer while single
 * creates arrive. All imports fill half of the queue.
 */
export const WINDOW = { items: 64, besideCreates: 16, bytes: 1024 * 1024 };

/** The age up to which a single create counts as arriving, in milliseconds. */
const RECENT = 1_000;

interface RejectedLine extends ErrorDto {
  readonly line: number;
}

interface Storing<Content> {
  readonly content: Content;
  readonly stored: Promise<Stored>;
}

type StoringById<Content> = Map<bigint, Storing<Content>>;

export interface ImportsOptions<Content extends Identified> {
  readonly dto: Type<Content>;
  readonly creates: GroupCreate<Content>;
  readonly slots: Semaphore;
  readonly tracer: Tracer;
  readonly logger: Logger;
}

export class Imports<Content extends Identified> {
  private readonly window: Window<Line> = {
    items: () => (this.options.creates.sinceCreate < RECENT ? WINDOW.besideCreates : WINDOW.items),
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
    lines: AsyncIterable<readonly Line[]>,
    signal: AbortSignal,
    actor?: Actor,
  ): AsyncGenerator<string> {
    const { creates, slots, tracer } = this.options;
    const giveBack = slots.take();
    const storing: StoringById<Content> = new Map();
    const summary = { created: 0, unchanged: 0, refused: 0 };
    const store = (content: Content) =>
      retried(signal, () => tracer.serving([], () => creates.createOneOfMany(content, actor)));
    const create = (line: Line) => this.create(line, storing, store);
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
    line: Line,
    storing: StoringById<Content>,
    store: (content: Content) => Promise<Stored>,
  ): Promise<Stored | RejectedLine> {
    try {
      const content = lineToDto(this.options.dto, line);
      const { id } = content;
      const current = { content, stored: this.storeAfter(storing.get(id), content, store) };
      storing.set(id, current);
      try {
        return await current.stored;
      } finally {
        if (storing.get(id) === current) storing.delete(id);
      }
    } catch (error) {
      const isOfRow = isCausedByRow(error);
      const { status, body } = toErrorResponse(error);
      if (status >= 500 && !isOfRow) throw error;
      if (isOfRow) this.report(error);
      return { line: line.number, error: body.error, message: body.message };
    }
  }

  /** Not each line: a million may be rejected for one reason. */
  private report(error: Error): void {
    const repeated = this.repeated.note(error, 'import');
    if (repeated === undefined) return;
    const context = { err: error, ...(repeated > 0 && { repeated }) };
    this.options.logger.error(context, 'the database rejected a line');
  }

  private async storeAfter(
    earlier: Storing<Content> | undefined,
    content: Content,
    store: (content: Content) => Promise<Stored>,
  ): Promise<Stored> {
    if (earlier !== undefined && this.options.creates.isSame(earlier.content, content)) {
      await earlier.stored;
      return 'unchanged';
    }
    await earlier?.stored.catch(() => {});
    return store(content);
  }
}
