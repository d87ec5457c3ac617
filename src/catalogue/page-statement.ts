import type { Statement } from '../database/statements.js';
import { MAX_PLANT_ID, MIN_PLANT_ID } from '../plants/plant-id.js';

/** Which plants a page has. */
export interface PageQuery {
  readonly tag?: string | undefined;
  /** A part of the name. */
  readonly name?: string | undefined;
  /** Only greater ids. */
  readonly after?: bigint | undefined;
  readonly limit: number;
  /** Most bytes of names and tags, unless the first plant has more: names and tags can be as long as a body. */
  readonly maxBytes: number;
}

/** Most bytes of names and tags of a group of pages. */
const MAX_GROUP_BYTES = 4 * 1024 * 1024;

/** The columns of a plant as text, in this order, and the number of plants that were found. */
export type PageRow = readonly [id: string, name: string, tag: string | null, found?: string];

/** Whether the plant is longer than a short page allows, so that its name and tag are missing. */
export function isLong([, name]: PageRow): boolean {
  return name === null;
}

/** A search looks at so many characters of a name: LIKE heeds no timeout within a row. */
const SEARCHED = 4_000;

/** PostgreSQL knows the length of a stored text without reading the text. */
const PLANT_BYTES = 'octet_length(name) + coalesce(octet_length(tag), 0)';

/** The index on tags has hashes, because an index entry cannot be as long as a tag (manual, chapter 64.1). */
const TAG_HASH = 'hashtextextended(tag, 0)';

/**
 * Folds case in all of Unicode, whatever the collation of the database: `ß`, `SS` and `ẞ` are equal, and so are `σ` and
 * `ς`. pg_trgm makes lower-case trigrams; a final Σ would become another letter than a Σ within a word, so it is
 * replaced by a letter without that rule.
 */
const folded = (text: string): string =>
  `translate(upper(lower(${text} COLLATE "und-x-icu")), 'Σ', 'Ϲ')`;

/** Pages of this size, which exports read, are prepared. */
const PREPARED_LIMIT = 1_000;

/**
 * A page, without the name and the tag of a plant that is longer than its share of the bytes. One plant more than the
 * limit tells whether there is another page.
 */
export function shortPage(query: PageQuery): Statement {
  const { limit, maxBytes } = query;
  const { text, values } = matching(query, shortColumns(Math.floor(maxBytes / (limit + 1))));
  const isPrepared =
    query.tag === undefined && query.name === undefined && limit === PREPARED_LIMIT;
  return {
    text,
    values,
    ...(isPrepared && { name: `page-of-${limit}-${values.length}` }),
  };
}

/** Most pages of a group. */
export const MAX_PAGES = 16;

/**
 * Short pages without a filter, each from an id on. The rows of all pages together are limited like a single page: they
 * are in memory at once. The first column is the number of the page, from 1.
 */
export function groupOfPages(starts: readonly bigint[], limit: number): Statement {
  const columns = shortColumns(Math.floor(MAX_GROUP_BYTES / MAX_PAGES / (limit + 1)));
  return {
    name: `pages-of-${limit}`,
    text: `SELECT n, page.* FROM unnest($1::bigint[]) WITH ORDINALITY AS t (start, n),
      LATERAL (SELECT ${columns} FROM plants WHERE id >= start ORDER BY id LIMIT ${limit + 1}) AS page
      ORDER BY n, id`,
    values: [starts.map(String)],
  };
}

/** The columns of a plant. Name and tag are null if the plant is longer than the number of bytes. */
function shortColumns(bytes: number): string {
  const isShort = `${PLANT_BYTES} <= ${bytes}`;
  return `id, CASE WHEN ${isShort} THEN name END AS name, CASE WHEN ${isShort} THEN tag END AS tag`;
}

/** The first plants of a page, up to the number of bytes. Takes PostgreSQL twice as long as a short page. */
export function boundedPage(query: PageQuery): Statement {
  const { text, values } = matching(query, `id, name, tag, ${PLANT_BYTES} AS bytes`);
  const summed = `SELECT *, sum(bytes) OVER (ORDER BY id) - bytes AS before, count(*) OVER () AS found FROM (${text}) AS page`;
  return {
    text: `SELECT id, name, tag, found FROM (${summed}) AS page
      WHERE before < ${query.maxBytes} ORDER BY id LIMIT ${query.limit}`,
    values,
  };
}

function matching(
  { tag, name, after, limit }: PageQuery,
  columns: string,
): Statement & { values: string[] } {
  const values: string[] = [];
  const parameter = (value: string): string => `$${values.push(value)}`;
  const conditions: string[] = [];
  let order = 'id';
  if (tag !== undefined) {
    conditions.push(hasTag(parameter(tag), parameter(String(after ?? MIN_PLANT_ID)), after));
    order = `${TAG_HASH}, id`;
  } else if (after !== undefined) {
    conditions.push(`id > ${parameter(String(after))}`);
  }
  if (name !== undefined) {
    const pattern = parameter(`%${name.replaceAll(/[\\%_]/g, '\\$&')}%`);
    conditions.push(`${folded(`left(name, ${SEARCHED})`)} LIKE ${folded(pattern)}`);
  }
  const where = conditions.length === 0 ? '' : `WHERE ${conditions.join(' AND ')}`;
  return {
    text: `SELECT ${columns} FROM plants ${where} ORDER BY ${order} LIMIT ${limit + 1}`,
    values,
  };
}

/**
 * Written as a range of the index, and sorted like the index. With an equality, the planner may expect to find the tag
 * soon among all plants in the order of their ids, and read half of the table. The tag itself is compared in a
 * `coalesce`, whose selectivity the planner does not estimate: for a tag that it expects to be rare, it would read and sort
 * all plants with the tag for each page.
 */
function hasTag(tag: string, start: string, after: bigint | undefined): string {
  return `(${TAG_HASH}, id) ${after === undefined ? '>=' : '>'} (hashtextextended(${tag}, 0), ${start})
    AND (${TAG_HASH}, id) <= (hashtextextended(${tag}, 0), ${MAX_PLANT_ID})
    AND tag IS NOT NULL AND coalesce(tag = ${tag}, false)`;
}
