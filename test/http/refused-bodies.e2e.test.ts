import { once } from 'node:events';
import { request as httpRequest } from 'node:http';
import type { IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Workspace } from '../support/process.js';
import { createTestDatabase } from '../../packages/framework/test/support/test-database.js';
import type { TestDatabase } from '../../packages/framework/test/support/test-database.js';
import { TOKEN } from '../support/test-service.js';

/* Ordinary clients, which alternate between sending and reading. The service is a separate process: within one
   process, client and service take turns, and hardly any answer is lost. */

const MEGABYTE = 1024 * 1024;

/** Enough to detect answers that are lost sometimes. */
const TIMES = 10;

let database: TestDatabase;
let workspace: Workspace;
let plants: string;

beforeAll(async () => {
  [database, workspace] = await Promise.all([createTestDatabase(), Workspace.create()]);
  const service = workspace.start({ DATABASE_URL: database.url, AUTH_TOKEN: TOKEN });
  plants = `${(await service.listening()).url}/plants`;
});

afterAll(async () => {
  await workspace.remove();
  await database.drop();
});

const HEADERS = { Authorization: `Bearer ${TOKEN}`, 'Content-Type': 'application/json' };

async function withFetch(body: Uint8Array<ArrayBuffer>): Promise<string> {
  const response = await fetch(plants, { method: 'POST', headers: HEADERS, body });
  return response.text();
}

async function withHttp(body: Uint8Array): Promise<string> {
  const request = httpRequest(plants, {
    method: 'POST',
    headers: { ...HEADERS, 'Content-Length': body.length },
  });
  request.end(body);
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  request.on('error', () => {});
  return text(response);
}

describe('a client with a valid token and a body over the limit', () => {
  it.each([
    ['fetch', 5, withFetch],
    ['fetch', 20, withFetch],
    ['node:http', 5, withHttp],
    ['node:http', 20, withHttp],
  ])('can read the refusal: %s, %i MB', async (_, megabytes, send) => {
    const body = new Uint8Array(megabytes * MEGABYTE);
    const outcomes = new Map<string, number>();
    for (let i = 0; i < TIMES; i++) {
      const outcome = await send(body).then(
        (answer) => String((JSON.parse(answer) as { error: number }).error),
        (error: Error) => (error.cause as Error | undefined)?.message ?? error.message,
      );
      outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
    }
    expect([...outcomes]).toEqual([['41300', TIMES]]);
  });
});
