import type { Bulkheads } from '../../database/bulkheads.js';
import type { Semaphore } from '../../database/semaphore.js';
import type { ExportParameters, PageParameters } from '../../http/responses/page.js';
import type { Tracer } from '../../observability/tracer.js';
import type { ListContext } from '../reads/page-query.js';
import type { Pages } from '../reads/pages.js';
import { retried } from './retried.js';

/** Limits of a page, thus of the memory of an export whose client reads slowly. */
const PAGE = { items: 1_000, bytes: 512 * 1024 } as const;

export interface ExportsOptions<Query extends PageParameters> {
  readonly pages: Pages<Query>;
  readonly bulkheads: Bulkheads;
  readonly slots: Semaphore;
  readonly tracer: Tracer;
}

/** Reads all rows of an entity, page by page (docs/decisions/export-by-pages.md). */
export class Exports<Query extends PageParameters> {
  constructor(private readonly options: ExportsOptions<Query>) {}

  /**
   * Returns the matching rows as lines of NDJSON, in ascending order of their ids, and an empty line at the end. Each text has the
   * lines of a page. The statements, of which there can be thousands, do not appear in traces.
   *
   * @param signal ends the export, which throws its reason
   * @param context the actor, if not all rows are visible
   * @throws ServiceException `too-many-exports`, `database-unavailable`
   */
  async *run(
    parameters: ExportParameters<Query>,
    signal: AbortSignal,
    context?: ListContext,
  ): AsyncGenerator<string> {
    const { pages, bulkheads, slots, tracer } = this.options;
    const reader = { slots: bulkheads.exports, maxBytes: PAGE.bytes };
    const giveBack = slots.take();
    try {
      let { after } = parameters as Partial<PageParameters>;
      do {
        const query = { ...parameters, limit: PAGE.items, after } as unknown as Query;
        const list = () => tracer.serving([], () => pages.list(query, context, reader));
        const { items, next } = await retried(signal, list);
        signal.throwIfAborted();
        if (items.length > 0) yield `${items.join('\n')}\n`;
        after = next;
      } while (after !== undefined);
      // To an HTTP/1.0 proxy, the connection of a killed process looks like the end of a response.
      yield '\n';
    } catch (error) {
      signal.throwIfAborted();
      throw error;
    } finally {
      giveBack();
    }
  }
}
