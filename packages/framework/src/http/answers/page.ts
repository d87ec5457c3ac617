import type { Response } from 'express';
import { sendJsonText } from './send-json.js';

/** The parameters of a page, after validation. */
export interface PageParameters<Key extends bigint | string = bigint | string> {
  readonly limit: number;
  readonly after?: Key;
  /** Only items with one of these ids. */
  readonly ids?: readonly Key[];
}

/** The parameters that are no filters. The `Link` has them in a form of their own. */
const PAGE_PARAMETERS: ReadonlySet<string> = new Set<keyof PageParameters>([
  'limit',
  'after',
  'ids',
]);

/** What a handler returns to send a page of a list. */
export class Page<Parameters extends PageParameters> {
  /**
   * @param items each as JSON. Writing a page as text takes half the time of its objects
   * @param next the last id of this page; `undefined` on the last page
   * @param parameters of the request
   */
  constructor(
    readonly items: readonly string[],
    readonly next: bigint | string | undefined,
    readonly parameters: Parameters,
  ) {}

  /** @throws ServiceException `too-many-answers` */
  send(response: Response, status: number): void {
    const { next, parameters } = this;
    const fields =
      next === undefined ? [] : ['Link', linkToNext(response.req.path, parameters, next)];
    sendJsonText(response, status, `[${this.items.join()}]`, fields);
  }
}

/**
 * The `Link` header field that leads to the next page with the same parameters (RFC 8288, section 3). Its target is a
 * path, so it is correct behind every proxy that does not change the path.
 *
 * @param after the last id of this page
 */
function linkToNext(path: string, parameters: PageParameters, after: bigint | string): string {
  const { limit, ids } = parameters;
  const target = [
    `limit=${limit}`,
    filterQuery(parameters),
    // Without those of this page, so that the link is short.
    ...(ids === undefined ? [] : [`ids=${ids.filter((id) => id > after).join()}`]),
    `after=${after}`,
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
