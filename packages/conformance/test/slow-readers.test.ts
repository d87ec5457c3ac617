import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { checks, TestedService } from '../src/index.js';
import type { OpenApiDocument, Result } from '../src/index.js';
import { DOCUMENT } from './support/sample-document.js';

const document = DOCUMENT as unknown as OpenApiDocument;

const NAME = 'memory while readers of notes stop reading';

/** The result for a service that takes so many MiB for each reader of a long page. */
async function resultFor(mebibytes: number): Promise<Result> {
  let readers = 0;
  const server = createServer((request, response) => {
    request.resume().on('end', () => {
      if (request.url === '/metrics') {
        const bytes = (100 + readers * mebibytes) * 2 ** 20;
        response.end(`process_resident_memory_bytes ${bytes}\n`);
      } else if (request.url === '/notes?limit=1000') {
        readers += 1;
        response.write('[');
      } else {
        response.end('{"id":7}');
      }
    });
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const options = { url, token: 'a', metricsUrl: `${url}/metrics` };
  const check = checks(document).find(({ name }) => name === NAME)!;
  return check.run(new TestedService(document, options));
}

it('a hundred readers may take 200 MiB, and no more', async () => {
  const results = await Promise.all([resultFor(2), resultFor(2.01)]);
  const reason = '100 readers that read nothing take 201 MiB';
  expect(results).toEqual([
    { name: NAME, outcome: 'pass' },
    { name: NAME, outcome: 'fail', reason, exchanges: [] },
  ]);
});
