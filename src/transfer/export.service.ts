import { Inject, Injectable } from '@nestjs/common';
import { CatalogueService } from '../catalogue/catalogue.service.js';
import { Slots } from '../database/slots.js';
import { toLine } from '../http/ndjson.js';
import { TRACER } from '../observability/tracer.js';
import type { Tracer } from '../observability/tracer.js';
import type { ExportPlantsDto } from './dto/export-plants.dto.js';
import { retried } from './retried.js';

/** An export whose client reads fast uses a connection to the database nearly all the time. */
const MAX_EXPORTS = 4;

/** Plants of a statement. */
const PAGE = 1_000;

/** Reads all plants, page by page (docs/decisions/export-by-pages.md). */
@Injectable()
export class ExportService {
  private readonly slots = new Slots(MAX_EXPORTS, 'too many exports are running');

  constructor(
    private readonly catalogue: CatalogueService,
    @Inject(TRACER) private readonly tracer: Tracer,
  ) {}

  /**
   * Returns the plants that match the filter as lines of NDJSON, in ascending order of their ids. Each text has the lines
   * of a page. The statements do not appear in traces, because there can be thousands.
   *
   * @throws PlantStoreError `overloaded`, `database-unavailable`
   */
  async *run(
    { after, ...filter }: ExportPlantsDto,
    clientGone: AbortSignal,
  ): AsyncGenerator<string> {
    const giveBack = this.slots.take();
    try {
      let last = after;
      do {
        const query = { ...filter, limit: PAGE, ...(last !== undefined && { after: last }) };
        const list = () => this.tracer.serving([], () => this.catalogue.list(query));
        const { plants, next } = await retried(clientGone, list);
        if (plants.length > 0) yield plants.map(toLine).join('');
        last = next;
      } while (last !== undefined);
    } catch (error) {
      if (!clientGone.aborted) throw error;
    } finally {
      giveBack();
    }
  }
}
