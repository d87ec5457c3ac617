import { request as requestHttp } from 'node:http';
import type { ClientRequest } from 'node:http';
import { request as requestHttps } from 'node:https';
import { setTimeout as sleep } from 'node:timers/promises';
import { check } from '../check.js';
import type { Check } from '../check.js';
import type { TestedResource } from '../tested-resource.js';
import type { TestedService } from '../tested-service.js';
import { NotApplicable, requireNoFailure, verify } from '../violation.js';

const READERS = 100;

const ROWS = 100;

/** Characters of the longest text of a row. Together, the pages are above the limit. */
const TEXT_LENGTH = 30_000;

const LIMIT_MIB = 200;

/** In milliseconds. */
const DURATION = 5_000;

/** The check that readers who read nothing do not fill the memory of the service. */
export function slowReaderChecks(resource: TestedResource): readonly Check[] {
  if (!resource.operations.list) return [];
  return [
    check(`memory while readers of ${resource.name} stop reading`, async (service) => {
      const { metricsUrl } = service.options;
      if (metricsUrl === undefined) throw new NotApplicable('there is no URL of metrics');
      await fill(service, resource);
      const before = await memoryOf(metricsUrl);
      const readers = Array.from({ length: READERS }, () => openReader(service, resource));
      let most = before;
      try {
        for (const end = performance.now() + DURATION; performance.now() < end;) {
          most = Math.max(most, await memoryOf(metricsUrl));
          await sleep(200);
        }
        requireNoFailure(await service.send('GET', `${resource.path}?limit=1`));
      } finally {
        for (const reader of readers) reader.destroy();
      }
      const growth = Math.round((most - before) / 2 ** 20);
      verify(growth <= LIMIT_MIB, `${READERS} readers that read nothing take ${growth} MiB`);
    }),
  ];
}

/** Creates rows with a long text. */
async function fill(service: TestedService, resource: TestedResource): Promise<void> {
  const text = 'x'.repeat(TEXT_LENGTH);
  const content = await resource.newContent(service);
  const names = Object.keys(content).filter((name) => typeof content[name] === 'string');
  for (const name of names) {
    const long = { ...content, [name]: text };
    const exchange = await resource.post(service, long);
    if (exchange.status >= 300) continue;
    resource.added(service, long, exchange);
    for (let n = 1; n < ROWS; n += 1) {
      const next = { ...(await resource.newContent(service)), [name]: text };
      resource.added(service, next, await resource.post(service, next));
    }
    return;
  }
  throw new NotApplicable(`no text of ${resource.name} can be long`);
}

function openReader({ clientOptions }: TestedService, { path }: TestedResource): ClientRequest {
  const { url, token } = clientOptions;
  const request = url.startsWith('https:') ? requestHttps : requestHttp;
  const headers = { Authorization: `Bearer ${token}` };
  const opened = request(`${url}${path}?limit=1000`, { headers, agent: false });
  // A service may cut it off.
  opened.on('error', () => {});
  opened.on('response', (response) => response.pause().on('error', () => {}));
  return opened.end();
}

async function memoryOf(url: string): Promise<number> {
  const text = await (await fetch(url)).text();
  const [, bytes] = /^\w*process_resident_memory_bytes(?:\{[^}]*\})? (\S+)/m.exec(text) ?? [];
  if (bytes === undefined) throw new NotApplicable('no metric is process_resident_memory_bytes');
  return Number(bytes);
}
