import { check } from '../check.js';
import type { Check } from '../check.js';
import { requireNoFailure, NotApplicable, verify } from '../violation.js';
import type { Exchange } from '../exchange.js';
import { contentOf } from '../exchange.js';
import { canonical } from '../json.js';
import { hasHeader } from '../tested-resource.js';
import type { TestedResource } from '../tested-resource.js';
import type { Row, TestedService } from '../tested-service.js';

const AT_ONCE = 8;

const ROUNDS = 3;

/** The checks of entity tags. */
export function preconditionChecks(resource: TestedResource): readonly Check[] {
  const { get, patch, replace, remove } = resource.operations;
  const { name } = resource;
  const change = hasHeader(patch, 'If-Match') ? 'patch' : 'replace';
  const requireChange = () => {
    if (!get || !(change === 'patch' ? patch : hasHeader(replace, 'If-Match'))) {
      throw new NotApplicable('the document has no look-up, or no change with If-Match');
    }
  };
  return [
    check(`entity tags of ${name}: a strong one for each content`, async (service) => {
      if (!get) throw new NotApplicable('the document has no look-up');
      const row = await resource.create(service);
      const found = await lookUp(service, row);
      verify(/^"[^"]+"$/.test(tagOf(found)), 'ETag is missing, or not strong', found);
      const headers = { 'If-None-Match': tagOf(found) };
      const again = await service.send('GET', row.path, { headers });
      verify(again.status === 304, `If-None-Match with the ETag gets ${again.status}`, again);
      if (!patch && !replace) return;
      await changeOf(service, resource, change, row, {});
      const changed = await lookUp(service, row);
      verify(tagOf(changed) !== tagOf(found), 'a change keeps the ETag', found, changed);
      const stale = await service.send('GET', row.path, { headers });
      verify(stale.status === 200, `If-None-Match of a former content gets ${stale.status}`, stale);
    }),
    check(`preconditions of ${name}: a stale one changes nothing`, async (service) => {
      requireChange();
      const row = await resource.create(service);
      const stale = tagOf(await lookUp(service, row));
      await changeOf(service, resource, change, row, { 'If-Match': stale });
      const before = await lookUp(service, row);
      // If-Match compares strongly: RFC 9110, section 13.1.1.
      for (const tag of [stale, '"no-such-tag"', `W/${tagOf(before)}`]) {
        const headers = { 'If-Match': tag };
        const changed = await send(service, resource, change, row, headers);
        verify(changed.status === 412, `If-Match: ${tag} gets ${changed.status}`, changed);
        if (!hasHeader(remove, 'If-Match')) continue;
        const removed = await service.send('DELETE', row.path, { headers });
        verify(removed.status === 412, `If-Match: ${tag} gets ${removed.status}`, removed);
      }
      const after = await lookUp(service, row);
      const isKept = canonical(contentOf(after)) === canonical(contentOf(before));
      verify(isKept, 'a request with 412 has changed the row', before, after);
    }),
    check(`preconditions of ${name}: one of many changes at once wins`, async (service) => {
      requireChange();
      for (let round = 0; round < ROUNDS; round += 1) {
        const row = await resource.create(service);
        const headers = { 'If-Match': tagOf(await lookUp(service, row)) };
        const exchanges = await Promise.all(
          Array.from({ length: AT_ONCE }, () => send(service, resource, change, row, headers)),
        );
        for (const each of exchanges) requireNoFailure(each);
        const wins = exchanges.filter(({ status }) => status < 300).length;
        verify(wins === 1, `${wins} changes with one entity tag succeed`, ...exchanges);
      }
    }),
  ];
}

/** Replaces or patches a row. */
function send(
  service: TestedService,
  resource: TestedResource,
  change: 'replace' | 'patch',
  { path, content }: Row,
  headers: Readonly<Record<string, string>>,
): Promise<Exchange> {
  const body = resource.otherContent(service, change, content);
  return service.send(change === 'patch' ? 'PATCH' : 'PUT', path, { body, headers });
}

async function changeOf(...given: Parameters<typeof send>): Promise<void> {
  const exchange = requireNoFailure(await send(...given));
  const { status, body } = exchange;
  verify(status !== 412, 'the ETag of the row does not match', exchange);
  if (status >= 300) throw new NotApplicable(`cannot change ${given[1].name}: ${status} ${body}`);
}

async function lookUp(service: TestedService, { path }: Row): Promise<Exchange> {
  const found = requireNoFailure(await service.send('GET', path));
  verify(found.status === 200, `${path} gets ${found.status}`, found);
  return found;
}

function tagOf({ headers }: Exchange): string {
  return headers['etag'] ?? '';
}
