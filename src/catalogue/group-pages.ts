import { Inject, Injectable } from '@nestjs/common';
import { Batcher } from '../database/batcher.js';
import { ConnectionShares } from '../database/connection-shares.js';
import { Statements } from '../database/statements.js';
import { TRACER } from '../observability/tracer.js';
import type { Tracer } from '../observability/tracer.js';
import { groupOfPages, MAX_PAGES } from './page-statement.js';
import type { PageRow } from './page-statement.js';

/** Sizes of pages that are read in groups: the default, and the next that callers ask for. */
const SIZES = [50, 100];

type GroupedRow = readonly [page: string, ...row: PageRow];

/** Reads pages of many requests in one statement, if they have no filter. */
@Injectable()
export class GroupPages {
  private readonly batchers: ReadonlyMap<number, Batcher<bigint, readonly PageRow[]>>;

  constructor(
    private readonly statements: Statements,
    private readonly shares: ConnectionShares,
    @Inject(TRACER) tracer: Tracer,
  ) {
    this.batchers = new Map(
      SIZES.map((limit) => [
        limit,
        new Batcher({
          lengthOf: () => 0,
          maxRows: MAX_PAGES,
          perform: (starts) => this.shares.lists.run(() => this.perform(starts, limit)),
          tracer,
        }),
      ]),
    );
  }

  /** Whether pages of this size are read in groups. Citus does not join a distributed table in this way. */
  has(limit: number): boolean {
    return this.batchers.has(limit) && !this.statements.isDistributed;
  }

  /**
   * Returns the rows of a short page (`page-statement.ts`).
   *
   * @param start the first id that the page may have
   * @throws PlantStoreError `overloaded`, `too-many-lists`, `database-unavailable`
   */
  read(start: bigint, limit: number): Promise<readonly PageRow[]> {
    return this.batchers.get(limit)!.add(start);
  }

  private async perform(
    starts: readonly bigint[],
    limit: number,
  ): Promise<readonly (readonly PageRow[])[]> {
    const pages: PageRow[][] = starts.map(() => []);
    const rows = await this.statements.rows<GroupedRow>(groupOfPages(starts, limit));
    for (const [page, ...row] of rows) pages[Number(page) - 1]!.push(row);
    return pages;
  }
}
