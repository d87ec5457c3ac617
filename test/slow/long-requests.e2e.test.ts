import { mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { followEvents } from '../../packages/framework/test/support/event-source.js';
import { idOf } from '../../packages/framework/test/support/tokens.js';
import { issue, tokenCommand } from '../support/issued-tokens.js';
import { PATIENCE } from '../../packages/framework/test/support/patience.js';
import { RawSocket } from '../../packages/framework/test/support/raw-socket.js';
import { createMigratedDatabase } from '../support/migrated-database.js';
import type { TestDatabase } from '../../packages/framework/test/support/test-database.js';
import { AUDIENCE, secondsFromNow } from '../../packages/framework/test/support/test-issuer.js';
import type { TestIssuer } from '../../packages/framework/test/support/test-issuer.js';
import { startTestIssuer } from '../support/start-test-issuer.js';
import { startTestService, TOKEN } from '../support/test-service.js';
import type { TestService } from '../support/test-service.js';

/** Of an export, in bytes: more than the buffers of a connection hold, and than a slow reader reads in time. */
const EXPORTED = 40_000_000;

/** In seconds: time to send the requests before. */
const LIFETIME = 6;

const SCOPES = 'plants:read plants:write changes:read';

let folder: string;
let database: TestDatabase;
let issuer: TestIssuer;
let service: TestService;

const create = (...args: readonly string[]) =>
  issue(database.url, 'create', '--name', 't', ...args);
const command = (...args: readonly string[]) => tokenCommand(database.url, ...args);

interface Ending {
  readonly name: string;
  readonly token: () => Promise<string>;
  /** Unless it ends by itself. */
  readonly end?: (token: string) => Promise<unknown>;
  readonly error: number;
  readonly refusal: string;
}

const REVOKED: Ending = {
  name: 'an issued token that is revoked',
  token: create,
  end: (token) => command('revoke', idOf(token)),
  error: 40101,
  refusal: 'revoked',
};

const EXPIRED_JWT: Ending = {
  name: 'a JWT that expires',
  token: () => issuer.token({ exp: secondsFromNow(LIFETIME), scope: SCOPES }),
  error: 40102,
  refusal: 'expired',
};

const ENDINGS: readonly Ending[] = [
  REVOKED,
  EXPIRED_JWT,
  {
    name: 'an issued token that expires',
    token: () => create('--expires', `${LIFETIME}s`),
    error: 40102,
    refusal: 'expired',
  },
  {
    name: 'an issued token whose row is removed',
    token: create,
    end: (token) => database.query('DELETE FROM access_tokens WHERE id = $1', [idOf(token)]),
    error: 40101,
    refusal: 'unknown-token',
  },
  {
    name: 'an issued token that loses its scopes',
    token: create,
    end: (token) =>
      database.query(`UPDATE access_tokens SET scopes = '{}' WHERE id = $1`, [idOf(token)]),
    error: 40300,
    refusal: 'scope',
  },
  {
    name: 'the old secret of an issued token at the end of its grace',
    token: create,
    end: (token) => command('rotate', idOf(token), '--grace', '1s'),
    error: 40102,
    refusal: 'expired',
  },
  {
    name: 'a static token whose file changes',
    token: () => Promise.resolve(TOKEN),
    end: async () => {
      await writeFile(`${tokenFile()}.new`, 'x'.repeat(40));
      await rename(`${tokenFile()}.new`, tokenFile());
    },
    error: 40101,
    refusal: 'unknown-token',
  },
];

/** The next id that no test has used. */
let nextId = 1;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'long-requests-'));
  await writeFile(tokenFile(), TOKEN);
  [database, issuer] = await Promise.all([createMigratedDatabase(), startTestIssuer()]);
  await database.query(
    `INSERT INTO plants SELECT -n, 'a', repeat('x', 4000) FROM generate_series(1, ${EXPORTED / 4_000}) AS n`,
  );
  service = await startTestService({
    database,
    environment: {
      AUTH_TOKEN: '',
      AUTH_TOKEN_FILE: tokenFile(),
      AUTH_JWT_ISSUER: issuer.url,
      AUTH_JWT_AUDIENCE: AUDIENCE,
    },
  });
});

afterAll(async () => {
  await service.stop();
  await issuer.close();
  await database.drop();
  await rm(folder, { recursive: true });
});

function tokenFile(): string {
  return join(folder, 'token');
}

async function open(line: string, token: string, fields = ''): Promise<RawSocket> {
  const socket = await RawSocket.open(service.port);
  socket.send(`${line} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${token}\r\n${fields}\r\n`);
  return socket;
}

function openImport(token: string): Promise<RawSocket> {
  const fields = 'Content-Type: application/x-ndjson\r\nTransfer-Encoding: chunked\r\n';
  return open('POST /plants/import', token, fields);
}

function chunk(text: string): string {
  return `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`;
}

/** Sends a plant every 50 ms for as long as the service takes them, and returns their ids. */
async function sendPlants(socket: RawSocket): Promise<readonly number[]> {
  const ids: number[] = [];
  const deadline = performance.now() + 2 * PATIENCE;
  while (!socket.ended && performance.now() < deadline) {
    const id = nextId++;
    ids.push(id);
    socket.send(chunk(`{"id":${id},"name":"a"}\n`));
    await sleep(50);
  }
  return ids;
}

/** How many of these plants are stored. */
async function stored(ids: readonly number[]): Promise<number> {
  const found = await database.query('SELECT 1 FROM plants WHERE id = ANY ($1)', [ids]);
  return found.length;
}

/** Reads slowly, and returns what came last. */
async function readSlowly(socket: RawSocket): Promise<string> {
  const deadline = performance.now() + 2 * PATIENCE;
  let last = '';
  while (!socket.ended && performance.now() < deadline) {
    last = socket.rest.slice(-10) || last;
    await Promise.race([socket.skip(16_384), socket.end()]);
    await sleep(20);
  }
  return socket.rest.slice(-10) || last;
}

async function logged(entry: Record<string, unknown>): Promise<void> {
  await vi.waitFor(
    () => expect(service.log).toContainEqual(expect.objectContaining(entry)),
    PATIENCE,
  );
}

// Together, because they wait for the same time to pass.
describe.concurrent('the end of the token', () => {
  it.each(ENDINGS)(
    'ends an import with its Error: $name',
    async ({ token, end, error, refusal }) => {
      const secret = await token();
      const socket = await openImport(secret);
      socket.send(chunk('x\n'));
      await vi.waitFor(() => expect(socket.rest).toContain('"line":1,'), PATIENCE);
      const [ids] = await Promise.all([sendPlants(socket), end?.(secret)]);
      const lines = [...socket.rest.matchAll(/^\{.*\}$/gm)].map(([line]) => JSON.parse(line));
      expect(lines).toEqual([
        expect.objectContaining({ line: 1, error: 40001 }),
        { error, message: expect.any(String) },
      ]);
      const count = await stored(ids);
      expect(count).toBeGreaterThan(0);
      expect(await stored(ids.slice(0, count))).toBe(count);
      await logged({ route: '/plants/import', status: 200, error, refusal });
    },
  );

  it('answers an import that has not answered yet like a new request', async () => {
    const socket = await openImport(await create('--expires', `${LIFETIME}s`));
    const ids = sendPlants(socket);
    const answer = await socket.answer();
    expect(answer.status).toBe(401);
    expect(answer.headers['www-authenticate']).toContain('error="invalid_token"');
    expect(JSON.parse(answer.body)).toEqual({
      error: 40102,
      message: 'the bearer token has expired',
    });
    expect(await stored(await ids)).toBeGreaterThan(0);
    socket.destroy();
  });

  it.each([REVOKED, EXPIRED_JWT])(
    'refuses a plant whose body is still arriving: $name',
    async ({ token, end, error }) => {
      const secret = await token();
      const id = nextId++;
      const fields = 'Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n';
      const socket = await open('POST /plants', secret, fields);
      const body = `{"id":${id},"name":"a"}`;
      socket.send(chunk(body.slice(0, 5)));
      await end?.(secret);
      await vi.waitFor(async () => {
        const { status } = await service.request('GET', '/plants?limit=1', {
          headers: { Authorization: `Bearer ${secret}` },
        });
        expect(status).toBe(401);
      }, PATIENCE);
      // The token is verified again after a body that has taken longer than a second.
      await sleep(1_100);
      socket.send(`${chunk(body.slice(5))}0\r\n\r\n`);
      const answer = await socket.answer();
      expect([answer.status, JSON.parse(answer.body)]).toEqual([
        401,
        { error, message: expect.any(String) },
      ]);
      expect(await stored([id])).toBe(0);
      socket.destroy();
    },
  );

  it.each([REVOKED, EXPIRED_JWT])(
    'breaks off an export: $name',
    async ({ token, end, error, refusal }) => {
      const secret = await token();
      const socket = await open('GET /plants/export', secret);
      await socket.skip(1);
      const [last] = await Promise.all([readSlowly(socket), end?.(secret)]);
      expect(socket.ended).toBe(true);
      // Of chunked coding.
      expect(last).not.toContain('\r\n0\r\n\r\n');
      const status = Math.floor(error / 100);
      await logged({
        route: '/plants/export',
        msg: 'response interrupted',
        status,
        error,
        refusal,
      });
    },
  );

  it('breaks off an export that nobody reads', async () => {
    const socket = await open('GET /plants/export', await create('--expires', `${LIFETIME}s`));
    socket.stopReading();
    await vi.waitFor(() => expect(socket.peer?.writableLength).toBeGreaterThan(0), PATIENCE);
    // Long before the service gives up clients that do not read.
    await vi.waitFor(() => expect(socket.peer?.destroyed).toBe(true), 2 * PATIENCE);
    socket.destroy();
  });

  it.each([REVOKED, EXPIRED_JWT])(
    'ends the stream of a follower: $name',
    async ({ token, end, refusal }) => {
      const secret = await token();
      const stream = await followEvents(`${service.url}/changes`, {
        Authorization: `Bearer ${secret}`,
      });
      expect(stream.response.status).toBe(200);
      const ended = (async () => {
        while ((await stream.next()) !== undefined);
      })();
      await Promise.all([ended, end?.(secret)]);
      await logged({ route: '/changes', status: 200, refusal });
    },
  );
});
