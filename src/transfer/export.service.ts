import { Injectable } from '@nestjs/common';
import { CatalogueService } from '../catalogue/catalogue.service.js';
import { Slots } from '../database/slots.js';
import { toLine } from '../http/ndjson.js';
import type { ExportPlantsDto } from './dto/export-plants.dto.js';
import { retried } from './retried.js';

/** Each uses a connection most of the time, unless its client reads slowly. */
const MAX_EXPORTS = 4;

/** Plants of a statement. */
const PAGE = 1_000;

/** Reads all plants, page by page (docs/decisions/export-by-pages.md). */
@Injectable()
export class ExportService {
  private readonly slots = new Slots(MAX_EXPORTS, 'too many exports are running');

  constructor(private readonly catalogue: CatalogueService) {}

  /**
   * Returns the plants that match the filter as lines of NDJSON, in ascending order of their ids. Each text has the lines
   * of a page.
   *
   * @throws PlantStoreError `overloaded`, `database-unavailable`
   */
  async *run({ after, ...filter }: ExportPlantsDto): AsyncGenerator<string> {
    const giveBack = this.slots.take();
    try {
      let last = after;
      do {
        const query = { ...filter, limit: PAGE, ...(last !== undefined && { after: last }) };
        const { plants, next } = await retried(() => this.catalogue.list(query));
        if (plants.length > 0) yield plants.map(toLine).join('');
        last = next;
      } while (last !== undefined);
    } finally {
      giveBack();
    }
  }
}
