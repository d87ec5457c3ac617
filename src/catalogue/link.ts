import type { ListPlantsDto } from './dto/list-plants.dto.js';

/**
 * The `Link` header field that leads to the next page with the same filters (RFC 8288, section 3). Its target is a
 * path, so it is right behind every proxy that keeps the path.
 *
 * @param after the last id of this page
 */
export function linkToNext(
  path: string,
  { limit, tag, name }: ListPlantsDto,
  after: bigint,
): string {
  const query = new URLSearchParams({ limit: String(limit) });
  if (tag !== undefined) query.set('tag', tag);
  if (name !== undefined) query.set('name', name);
  query.set('after', String(after));
  return `<${path}?${query.toString()}>; rel="next"`;
}
