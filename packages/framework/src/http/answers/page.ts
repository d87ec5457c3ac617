import type { Response } from 'express';
import { ERRORS } from '../../errors/common-errors.js';
import { ServiceException } from '../../errors/service.exception.js';
import { requireRoomFor } from './held-response.js';
import { sendJsonText } from './send-json.js';

/**
 * Most bytes of the filters and the `ids` in the query of the `Link`, so that the link passes every proxy: nginx takes up to 4 kB of
 * header fields from a service (`proxy_buffer_size`).
 */
export const MAX_FILTERS = 2_000;

/** The parameters of a page, after validation. */
export interface PageParameters<Key extends bigint | string = bigint | string> {
  readonly limit: number;
  readonly after?: Key;
  /** Only items with one of these ids. */
  readonly ids?: readonly Key[];
  /** The order: `id` by default, or a column, and `-` in front of it for the other direction. */
  readonly sort?: string;
  /** The value in JSON that the item of `after` has in the column of the order. */
  readonly afterValue?: string;
  /** Whether to count the items that match. */
  readonly count?: boolean;
}

/** How many items match, whatever pages they are on. */
export interface Total {
  readonly items: number;
  /** Otherwise it is an estimate. */
  readonly isExact: boolean;
}

/** The parameters that are no filters. The `Link` has them in a form of their own. */
const PAGE_PARAMETERS: ReadonlySet<string> = new Set<keyof PageParameters>([
  'limit',
  'after',
  'ids',
  'sort',
  'afterValue',
  'count',
]);

/** An export has all rows, in ascending order of their ids. */
type OnlyLists = Exclude<keyof PageParameters, 'limit' | 'after'>;

/** The parameters of an export: the parameters of a list without `limit`, `ids`, `sort`, `afterValue` and `count`. */
export type ExportParameters<Query> = Omit<Query, 'limit' | OnlyLists> & {
  readonly [Name in OnlyLists]?: never;
};

/** What a handler returns to send a page of a list. */
export class Page<Parameters extends PageParameters> {
  /**
   * @param items each as JSON. Writing a page as text takes half the time of its objects
   * @param next the last id of this page; `undefined` on the last page
   * @param parameters of the request
   * @param details `nextValue`: the value in JSON of the last item, if the list is sorted by a column
   */
  constructor(
    readonly items: readonly string[],
    readonly next: bigint | string | undefined,
    readonly parameters: Parameters,
    readonly details: { readonly nextValue?: string; readonly total?: Total } = {},
  ) {}

  /** @throws ServiceException `too-many-answers`, or `parameter-not-valid` if the ids of the next pages do not fit into the `Link` */
  send(response: Response, status: number): void {
    const { next, parameters } = this;
    const { nextValue, total } = this.details;
    const fields = [
      ...(next === undefined
        ? []
        : ['Link', linkToNext(response.req.path, parameters, next, nextValue)]),
      ...(total === undefined
        ? []
        : ['X-Total-Count', `${total.items}`, 'X-Total-Count-Exact', `${total.isExact}`]),
    ];
    // Before all of it is in memory once more.
    requireRoomFor(this.items.reduce((characters, { length }) => characters + length, 0));
    sendJsonText(response, status, `[${this.items.join()}]`, fields);
  }
}

/**
 * The `Link` header field that leads to the next page of the list (RFC 8288, section 3), which does not count again. Its target is a
 * path, so it is correct behind every proxy that does not change the path.
 *
 * @param after the last id of this page
 * @param afterValue the last value in JSON
 * @throws ServiceException `parameter-not-valid`
 */
function linkToNext(
  path: string,
  parameters: PageParameters,
  after: bigint | string,
  afterValue: string | undefined,
): string {
  const { limit, sort, ids } = parameters;
  const filters = filterQuery(parameters);
  // The link has only the ids of the next pages, so that it is short.
  const rest = ids?.filter((id) => (sort === '-id' ? id < after : id > after)).join();
  // A page has fewer items than `limit` if they are long. Without some of the ids, the link would lead to other items.
  if (rest !== undefined && filters.length + rest.length > MAX_FILTERS) {
    throw new ServiceException(
      ERRORS.parameterNotValid,
      'ids are too many for items as long as these: the link to the next page would be too long',
    );
  }
  const target = [
    `limit=${limit}`,
    sort === undefined ? '' : `sort=${encodeURIComponent(sort)}`,
    filters,
    rest === undefined ? '' : `ids=${rest}`,
    `after=${after}`,
    afterValue === undefined ? '' : `afterValue=${encodeURIComponent(afterValue)}`,
  ];
  return `<${path}?${target.filter((part) => part !== '').join('&')}>; rel="next"`;
}

/** The filters among the parameters, percent-encoded. */
export function filterQuery(parameters: object): string {
  const filters = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters)) {
    if (isFilter(name) && value !== undefined) filters.set(name, String(value));
  }
  return filters.toString();
}

/** Whether a parameter tells which items a list has. */
export function isFilter(name: string): boolean {
  return !PAGE_PARAMETERS.has(name);
}
