import type { Operation } from '@resource-service/client/document';
import { check } from '../check.js';
import type { Check } from '../check.js';
import { canonical, isObject } from '../json.js';
import type { TestedResource } from '../tested-resource.js';
import type { Row, TestedService } from '../tested-service.js';
import { NotApplicable, requireNoFailure, verify } from '../violation.js';
import { exportOf, pagesOf } from './lists.js';

/** The statuses of changes of a hidden row. A service can reject the body, too, before it looks for the row. */
const REJECTED = new Set([400, 403, 404, 422]);

/** The check that a row which a token does not see is hidden from it everywhere. */
export function ownerChecks(resource: TestedResource): readonly Check[] {
  const { create, get } = resource.operations;
  if (!create || !get) return [];
  return [
    check(`owners of ${resource.name}: a hidden row is hidden everywhere`, async (service) => {
      const { otherToken } = service.options;
      if (otherToken === undefined) throw new NotApplicable('there is no token of another owner');
      const other = service.as(otherToken);
      const row = await resource.create(service);
      const found = requireNoFailure(await other.send('GET', row.path));
      verify(found.status !== 401, 'the token of another owner is not accepted', found);
      if (found.status !== 404) {
        throw new NotApplicable(`the other token gets ${found.status} for a row, not 404`);
      }
      await verifyUnread(other, resource, get, row);
      await verifyUnchanged(service, other, resource, row);
    }),
  ];
}

/** @throws Violation if another read has the row. A read with another scope may be forbidden. */
async function verifyUnread(
  other: TestedService,
  resource: TestedResource,
  get: Operation,
  { id, path }: Row,
): Promise<void> {
  const { list, export: lines } = resource.operations;
  const isPermitted = (operation: Operation | undefined) =>
    operation !== undefined && scopesOf(operation) === scopesOf(get);
  const isRow = (item: unknown) => isObject(item) && String(item['id']) === String(id);
  const queries: readonly Readonly<Record<string, string>>[] = [
    { limit: '1000' },
    ...(resource.parametersOf('list').has('ids') ? [{ ids: String(id) }] : []),
  ];
  for (const query of isPermitted(list) ? queries : []) {
    const items = await pagesOf(other, resource.path, query);
    const asked = String(new URLSearchParams(query));
    verify(!items.some(isRow), `${resource.path}?${asked} has ${path}, which is hidden`);
  }
  if (!isPermitted(lines)) return;
  for await (const line of exportOf(other, resource)) {
    verify(!isRow(line), `the export has ${path}, which is hidden`);
  }
}

/** @throws Violation if the other token can change the row */
async function verifyUnchanged(
  service: TestedService,
  other: TestedService,
  resource: TestedResource,
  { path, content }: Row,
): Promise<void> {
  const { patch, replace, remove } = resource.operations;
  const attempt = async (method: string, target: string, body?: object) => {
    const exchange = await other.send(method, target, body && { body });
    const reason = `${method} ${target}, which is hidden, gets ${exchange.status}`;
    verify(REJECTED.has(exchange.status), reason, exchange);
  };
  const before = await service.send('GET', path);
  if (remove) await attempt('DELETE', path);
  if (patch) await attempt('PATCH', path, resource.otherContent(service, 'patch', content));
  if (replace) await attempt('PUT', path, resource.otherContent(service, 'replace', content));
  const after = await service.send('GET', path);
  const isKept = canonical(after.body) === canonical(before.body);
  verify(isKept, `another token has changed ${path}`, before, after);
  if (!remove || !resource.isRestorable) return;
  const removed = requireNoFailure(await service.send('DELETE', path));
  if (removed.status < 300) await attempt('POST', `${path}/restore`);
}

function scopesOf({ 'x-required-scope': scopes = [] }: Operation): string {
  return [scopes].flat().join();
}
