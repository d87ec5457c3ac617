import type { Response } from 'express';
import { ERRORS } from '../../errors/common-errors.js';
import { ServiceException } from '../../errors/service.exception.js';
import { requireRoomFor } from './bounded-response.js';
import { sendJsonText } from './send-json.js';

/**
 * Bytes of the filters and the `ids` in a `Link`, so that it passes every proxy: nginx takes 4 kB of header fields from a
 * service (`proxy_buffer_size`).
 *
 * @example const description = `Only tools with this name. All filters have at most ${MAX_FILTER_BYTES} bytes.`;
 */
export const MAX_FILTER_BYTES = 2_000;

export interface PageParameters<Key extends bigint | string = bigint | string> {
  readonly limit: number;
  readonly after?: Key;
  readonly ids?: readonly Key[];
  /** `id` (the default) or a column, with `-` in front for descending order. */
  readonly sort?: string;
  /** The value of the item of `after` in the sorted column, as JSON. */
  readonly afterValue?: string;
  readonly count?: boolean;
  /** The names of related rows that each item has. */
  readonly expand?: readonly string[];
}

export interface Total {
  readonly items: number;
  /** If not, it is an estimate. */
  readonly isExact: boolean;
}

/** An export has all rows, in ascending order of their ids. */
export const ONLY_LISTS = ['limit', 'ids', 'sort', 'afterValue', 'count', 'expand'] as const;

const PAGE_PARAMETERS: ReadonlySet<string> = new Set([...ONLY_LISTS, 'after']);

type OnlyLists = Exclude<(typeof ONLY_LISTS)[number], 'limit'>;

export type ExportParameters<Query> = Omit<Query, 'limit' | OnlyLists> & {
  readonly [Name in OnlyLists]?: never;
};

/** What `list` of a repository returns, and a handler: items, with the `Link` to the next ones. */
export class Page<Parameters extends PageParameters> {
  /**
   * @param items each as JSON, which takes half the time of writing objects
   * @param next the last id of this page, unless it is the last page
   * @param details `nextValue`: the value of the last item in the sorted column, as JSON
   */
  constructor(
    readonly items: readonly string[],
    readonly next: bigint | string | undefined,
    readonly parameters: Parameters,
    readonly details: { readonly nextValue?: string; readonly total?: Total } = {},
  ) {}

  send(response: Response, status: number): void {
    const { next, parameters } = this;
    const { nextValue, total } = this.details;
    const fields: string[] = [];
    if (next !== undefined) {
      fields.push('Link', linkToNext(response.req.path, parameters, next, nextValue));
    }
    if (total !== undefined) {
      fields.push('X-Total-Count', `${total.items}`, 'X-Total-Count-Exact', `${total.isExact}`);
    }
    // Before the join copies all of it.
    requireRoomFor(this.items.reduce((characters, { length }) => characters + length, 0));
    sendJsonText(response, status, `[${this.items.join()}]`, fields);
  }
}

/**
 * The `Link` header field for the next page (RFC 8288, section 3), which does not count again. Its target is a path, so it
 * is correct behind every proxy that does not change the path.
 */
function linkToNext(
  path: string,
  parameters: PageParameters,
  after: bigint | string,
  afterValue: string | undefined,
): string {
  const { limit, sort, ids, expand } = parameters;
  const filters = filterQuery(parameters);
  // The code of a service may have UUIDs in upper case.
  const restIds = ids
    ?.map((id) => (typeof id === 'string' ? id.toLowerCase() : id))
    .filter((id) => (sort === '-id' ? id < after : id > after))
    .join();
  // Possible if long items make the page shorter than `limit`. A link without some of the ids would lead to other items.
  if (restIds !== undefined && filters.length + restIds.length > MAX_FILTER_BYTES) {
    throw new ServiceException(
      ERRORS.parameterNotValid,
      'ids are too many for items as long as these: the link to the next page would be too long',
    );
  }
  const target = [
    `limit=${limit}`,
    sort === undefined ? '' : `sort=${encodeURIComponent(sort)}`,
    filters,
    expand === undefined ? '' : `expand=${expand.map(encodeURIComponent).join()}`,
    restIds === undefined ? '' : `ids=${restIds}`,
    `after=${after}`,
    afterValue === undefined ? '' : `afterValue=${encodeURIComponent(afterValue)}`,
  ];
  return `<${path}?${target.filter((part) => part !== '').join('&')}>; rel="next"`;
}

export function filterQuery(parameters: object): string {
  const used = Object.entries(parameters).filter(
    ([name, value]) => value !== undefined && isFilter(name),
  );
  if (used.length === 0) return '';
  const filters = new URLSearchParams();
  for (const [name, value] of used) {
    for (const one of [value].flat()) filters.append(name, textOf(one));
  }
  return filters.toString();
}

function textOf(value: unknown): string {
  return value instanceof Date ? value.toISOString() : String(value);
}

export function isFilter(name: string): boolean {
  return !PAGE_PARAMETERS.has(name);
}
