/** Which plants a page has. */
export interface Filters {
  readonly tag?: string;
  readonly name?: string;
}

/**
 * The `Link` header field that leads to the next page with the same filters (RFC 8288, section 3). Its target is a
 * path, so it is right behind every proxy that keeps the path.
 *
 * @param after the last id of this page
 */
export function linkToNext(
  path: string,
  query: Filters & { readonly limit: number },
  after: bigint,
): string {
  const filters = filterQuery(query);
  const target = [`limit=${query.limit}`, filters, `after=${after}`].filter((part) => part !== '');
  return `<${path}?${target.join('&')}>; rel="next"`;
}

/** The filters as parameters of a query, percent-encoded. */
export function filterQuery({ tag, name }: Filters): string {
  return new URLSearchParams({
    ...(tag !== undefined && { tag }),
    ...(name !== undefined && { name }),
  }).toString();
}
