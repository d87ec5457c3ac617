import type { Operation } from '@resource-service/client/document';
import { Connection } from '@resource-service/client/runtime';
import { check } from '../check.js';
import type { Check } from '../check.js';
import { jsonOf, nextOf } from '../exchange.js';
import { canonical, isObject, parseJson } from '../json.js';
import type { Json } from '../json.js';
import type { TestedResource } from '../tested-resource.js';
import type { Row, TestedService } from '../tested-service.js';
import { NotApplicable, requireNoFailure, verify } from '../violation.js';

const STOCK = 30;

/** Items of a page, unless the list is long. */
const PAGE = 7;

const MAX_PAGES = 40;

const MAX_LIMIT = 1_000;

/** The checks that each row is in each list, once, also while other rows come and go. */
export function listChecks(resource: TestedResource): readonly Check[] {
  if (!resource.operations.list) return [];
  const { name } = resource;
  return [
    ...sortsOf(resource.operations.list).map((sort) =>
      check(`list of ${name}${sort ? ` by ${sort}` : ''}: each row once`, (service) =>
        walkBesideWrites(service, resource, sort),
      ),
    ),
    check(`list of ${name}: each filter finds a row with its value`, async (service) => {
      const filters = filtersOf(resource);
      if (filters.length === 0) throw new NotApplicable('the list has no filter by a property');
      const [row] = (await resource.stock(service, STOCK)) as [Row];
      for (const filter of filters) await find(service, resource, row, filter);
    }),
    check(`export of ${name}: each row once`, async (service) => {
      if (!resource.operations.export) throw new NotApplicable('the document has no export');
      const rows = await resource.stock(service, STOCK);
      const counts = new Map<string, number>();
      for await (const line of exportOf(service, resource)) {
        verify(isObject(line) && 'id' in line, `the export has the line ${canonical(line)}`);
        const id = String(line['id']);
        counts.set(id, (counts.get(id) ?? 0) + 1);
      }
      verifyOnce(rows, counts);
    }),
  ];
}

/** The values of the parameter `sort`. `undefined`: the list has no such parameter. */
export function sortsOf({ parameters = [] }: Operation): readonly (string | undefined)[] {
  const schema = parameters.find(({ name }) => name === 'sort')?.schema ?? {};
  const { enum: sorts = [undefined] } = schema as { readonly enum?: readonly string[] };
  return sorts;
}

async function walkBesideWrites(
  service: TestedService,
  resource: TestedResource,
  sort: string | undefined,
): Promise<void> {
  const rows = await resource.stock(service, STOCK);
  const limit = await limitFor(service, resource);
  const walked = new AbortController();
  const writes = async () => {
    while (!walked.signal.aborted && resource.operations.remove) {
      const { path } = await resource.create(service);
      await service.send('DELETE', path);
    }
  };
  const parameters = { limit: String(limit), ...(sort && { sort }) };
  const walk = pagesOf(service, resource.path, parameters, limit);
  const [items] = await Promise.all([walk.finally(() => walked.abort()), writes()]);
  verifyItems(rows, items, sort);
}

/** @throws Violation unless each row is there, once, in the order */
export function verifyItems(
  rows: readonly Row[],
  items: readonly Json[],
  sort: string | undefined,
): void {
  const counts = new Map<string, number>();
  for (const { id } of items) counts.set(String(id), (counts.get(String(id)) ?? 0) + 1);
  verifyOnce(rows, counts);
  if (sort !== undefined) verifyOrder(items, sort);
}

/** All items of the list at this path. */
export async function pagesOf(
  service: TestedService,
  path: string,
  parameters: Readonly<Record<string, string>>,
  limit = Infinity,
): Promise<readonly Json[]> {
  const items: Json[] = [];
  let query: string | undefined = new URLSearchParams(parameters).toString();
  for (let page = 0; query !== undefined; page += 1) {
    const exchange = requireNoFailure(await service.send('GET', `${path}?${query}`));
    const list = jsonOf(exchange);
    const isPage = exchange.status === 200 && Array.isArray(list);
    verify(isPage, `a page of ${path} gets ${exchange.status}`, exchange);
    verify(list.length <= limit, `a page has ${list.length} items`, exchange);
    items.push(...(list as Json[]));
    query = nextOf(exchange);
    // Others may write, too.
    verify(page <= 10 * MAX_PAGES, 'the list does not end', exchange);
  }
  return items;
}

/** Small pages, but not too many. */
async function limitFor(service: TestedService, resource: TestedResource): Promise<number> {
  if (!resource.parametersOf('list').has('count')) return PAGE;
  const exchange = await service.send('GET', `${resource.path}?limit=1&count=true`);
  const total = Number(exchange.headers['x-total-count'] ?? 0);
  if (total > MAX_PAGES * MAX_LIMIT) {
    throw new NotApplicable(`the list has ${total} rows: check a service with fewer`);
  }
  return Math.max(PAGE, Math.ceil(total / MAX_PAGES));
}

function verifyOnce(rows: readonly Row[], counts: ReadonlyMap<string, number>): void {
  const wrong = rows.find(({ id }) => counts.get(String(id)) !== 1);
  const times = counts.get(String(wrong?.id)) ?? 0;
  verify(wrong === undefined, `${wrong?.path} occurs ${times} times, not once`);
}

/** The order of texts depends on the collation of the database. */
function verifyOrder(items: readonly Json[], sort: string): void {
  const isDescending = sort.startsWith('-');
  const property = sort.replace(/^-/, '');
  const values = items.map((item) => item[property]);
  for (const [n, value] of values.entries()) {
    const next = values[n + 1];
    if (typeof value !== typeof next || !['number', 'bigint'].includes(typeof value)) continue;
    const [low, high] = (isDescending ? [next, value] : [value, next]) as [bigint, bigint];
    verify(low <= high, `by ${sort}, ${String(value)} comes before ${String(next)}`);
  }
}

/** The parameters of a list that are named like a property, and fit any value of it. */
function filtersOf(resource: TestedResource): readonly string[] {
  const names = resource.propertiesOf('create');
  const parameters = resource.parametersOf('list');
  return names.filter((name) =>
    ['string', 'integer'].includes(String(parameters.get(name)?.schema?.type)),
  );
}

async function find(
  service: TestedService,
  resource: TestedResource,
  { id, content }: Row,
  filter: string,
): Promise<void> {
  const { [filter]: value } = content;
  if (typeof value !== 'string' && typeof value !== 'bigint') return;
  const items = await pagesOf(service, resource.path, { [filter]: String(value) });
  const isFound = items.some((item) => String(item['id']) === String(id));
  verify(isFound, `${resource.path}?${filter}=${value} lacks ${String(id)}`);
}

/** The lines of an export. */
export async function* exportOf(service: TestedService, { path }: TestedResource): AsyncGenerator {
  const connection = new Connection(service.clientOptions);
  const call = { method: 'GET', path: `${path}/export`, signal: null, isStream: true } as const;
  const response = await connection.send(call, (each) => each);
  for await (const lines of connection.lines(response, null)) {
    for (const line of lines) if (line !== '') yield parseJson(line);
  }
}
