import type { Statements } from '../../database/statements.js';
import type { Total } from '../../http/responses/page.js';
import type { PageQuery } from './page-query.js';
import { MAX_COUNTED } from './page-statement.js';
import type { PageStatements } from './page-statement.js';

/** The result of `EXPLAIN (FORMAT JSON)`. */
type Plans = readonly [{ readonly Plan: { readonly 'Plan Rows': number } }];

/** Returns the number of matching rows of all pages, or the planner's estimate. */
export async function totalOf(
  statements: Statements,
  pages: PageStatements,
  query: PageQuery,
): Promise<Total> {
  const [[counted] = []] = await statements.rows(pages.count(query));
  if (Number(counted) <= MAX_COUNTED) return { items: Number(counted), isExact: true };
  const [[[{ Plan: plan }]]] = (await statements.rows(pages.estimate(query))) as [[Plans]];
  // The planner may expect fewer than there are.
  return { items: Math.max(MAX_COUNTED + 1, plan['Plan Rows']), isExact: false };
}
