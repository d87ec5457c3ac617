import { Inject, Injectable } from '@nestjs/common';
import { ERRORS } from '../errors/common-errors.js';
import { CatalogueService } from '../catalogue/catalogue.service.js';
import { ConnectionShares } from '../database/connection-shares.js';
import { Slots } from '../database/slots.js';
import { TRACER } from '../observability/tracer.js';
import type { Tracer } from '../observability/tracer.js';
import type { ExportPlantsDto } from './dto/export-plants.dto.js';
import { retried } from './retried.js';

/** Most exports that are open at once. Each has up to three pages in memory: in work, in its stream and in its socket. */
const MAX_EXPORTS = 32;

/** Limits of a page, which is the memory of an export whose client reads slowly. */
const PAGE = { plants: 1_000, bytes: 512 * 1024 } as const;

/** Reads all plants, page by page (docs/decisions/export-by-pages.md). */
@Injectable()
export class ExportService {
  private readonly open = new Slots(MAX_EXPORTS, ERRORS.tooManyExports);

  constructor(
    private readonly catalogue: CatalogueService,
    private readonly shares: ConnectionShares,
    @Inject(TRACER) private readonly tracer: Tracer,
  ) {}

  /**
   * Returns the plants that match the filter as lines of NDJSON, in ascending order of their ids, and an empty line after
   * the last of them. Each text has the lines of a page. The statements do not appear in traces, because there can be
   * thousands.
   *
   * @throws PlantStoreError `too-many-exports`, `database-unavailable`
   */
  async *run(
    { after, ...filter }: ExportPlantsDto,
    clientGone: AbortSignal,
  ): AsyncGenerator<string> {
    const giveBack = this.open.take();
    try {
      let last = after;
      do {
        const query = { ...filter, limit: PAGE.plants, ...(last !== undefined && { after: last }) };
        const reader = { slots: this.shares.exports, maxBytes: PAGE.bytes };
        const list = () => this.tracer.serving([], () => this.catalogue.list(query, reader));
        const { plants, next } = await retried(clientGone, list);
        if (plants.length > 0) yield `${plants.join('\n')}\n`;
        last = next;
      } while (last !== undefined);
      // To a proxy that speaks HTTP/1.0, a connection that a killed process leaves looks like the end of an answer.
      yield '\n';
    } catch (error) {
      if (!clientGone.aborted) throw error;
    } finally {
      giveBack();
    }
  }
}
