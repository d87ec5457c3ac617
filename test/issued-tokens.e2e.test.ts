import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { newToken, newTokenId } from '../src/auth/issued-tokens/token-format.js';
import { FaultyLink } from './support/faulty-link.js';
import { call, idOf, issue, tokenCommand, tokenProcess } from './support/issued-tokens.js';
import { createMigratedDatabase, createTestDatabase, given } from './support/test-database.js';
import type { TestDatabase } from './support/test-database.js';
import { startTestService } from './support/test-service.js';
import type { TestService } from './support/test-service.js';

let database: TestDatabase;
let service: TestService;
let plants: string;
const unused = 'postgres://nobody@127.0.0.1:1/none';

beforeAll(async () => {
  database = await createMigratedDatabase();
  service = await startTestService({ database });
  plants = `${service.url}/plants`;
});

afterAll(async () => {
  await service.stop();
  await database.drop();
});

const create = (...args: readonly string[]) =>
  issue(database.url, 'create', '--name', 'test', ...args);

describe('plant-store token create', () => {
  it('prints the token alone, and the rest to stderr', async () => {
    const args = [
      'create',
      '--name',
      'nightly import',
      '--scope',
      'plants:read',
      '--expires',
      '30m',
    ];
    const { code, stdout, stderr } = await tokenProcess(database.url, ...args);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^pst_[0-9A-Za-z]{12}_[0-9A-Za-z]{28}\n$/);
    const id = idOf(stdout);
    expect(stderr).toMatch(new RegExp(`^issued the token ${id} with plants:read, until 20.*Z\n`));
    const [row] = await database.query(
      `SELECT name, scopes, extract(epoch FROM expires_at - created_at)::int AS seconds, last_used_at
         FROM access_tokens WHERE id = $1`,
      [id],
    );
    expect(row).toEqual({
      name: 'nightly import',
      scopes: ['plants:read'],
      seconds: 1_800,
      last_used_at: null,
    });
  });

  it('issues a token with all scopes for 90 days, which works at once', async () => {
    const token = await create();
    expect(await call(plants, token, 'POST')).toBe('200');
    expect(await call(plants, token)).toBe('200');
    const { log } = service;
    expect(log.findLast(({ route }) => route === '/plants')).toMatchObject({
      principalKind: 'issued-token',
      principalId: idOf(token),
    });
    const [row] = await database.query(
      'SELECT (expires_at - created_at)::text AS lifetime FROM access_tokens WHERE id = $1',
      [idOf(token)],
    );
    expect(row).toEqual({ lifetime: '90 days' });
  });

  it('issues a token that permits only its scopes', async () => {
    const token = await create('--scope', 'plants:read');
    expect(await call(plants, token)).toBe('200');
    expect(await call(plants, token, 'POST')).toBe('403 40300');
  });

  it('issues a token that never expires only if it is asked to', async () => {
    const token = await create('--expires', 'never');
    expect(await call(plants, token)).toBe('200');
    const { stdout } = await tokenCommand(database.url, 'list');
    expect(stdout).toMatch(new RegExp(`^${idOf(token)} .* never `, 'm'));
  });

  it.each([
    [['--scope', 'plants:delete'], /must be one of .*plants:read, plants:write/],
    [['--expires', '0d'], /at most 3650d/],
    [['--expires', '3651d'], /at most 3650d/],
    [['--expires', '90'], /at most 3650d/],
    [['--name', ''], /1 to 100 characters/],
    [['--name', 'a\u001b[2Jb'], /control character/],
  ])('refuses %j before it connects', async (args, complaint) => {
    const all = ['create', '--name', 'test', ...args];
    const { code, stdout, stderr } = await tokenCommand(unused, ...all);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toMatch(complaint);
  });

  it('refuses more than 10,000 tokens, also when many are issued at a time', async () => {
    const full = await createMigratedDatabase();
    try {
      await full.query(`INSERT INTO access_tokens (id, name, scopes, secret_hash, expires_at)
        SELECT 'id' || i, 'many', '{}', '', now() + interval '1 day' FROM generate_series(1, 9998) AS i`);
      await full.query(`INSERT INTO access_tokens (id, name, scopes, secret_hash, expires_at)
        SELECT 'ended' || i, 'ended', '{}', '', now() - interval '1 s' * i FROM generate_series(1, 1500) AS i`);
      const results = await Promise.all(
        Array.from({ length: 4 }, () => tokenCommand(full.url, 'create', '--name', 'one more')),
      );
      expect(results.filter(({ code }) => code === 0)).toHaveLength(2);
      expect(results.filter(({ code }) => code === 1)).toHaveLength(2);
      const refused = results.find(({ code }) => code === 1);
      expect(refused?.stderr).toContain('there are 10000 tokens that have not expired');
      const ended = await full.query(
        "SELECT count(*)::int, bool_or(id = 'ended1') AS latest FROM access_tokens WHERE name = 'ended'",
      );
      expect(ended).toEqual([{ count: 1_000, latest: true }]);
    } finally {
      await full.drop();
    }
  });

  it('says in a line what is wrong with the database', async () => {
    const empty = await createTestDatabase();
    try {
      const { code, stderr } = await tokenCommand(empty.url, 'list');
      expect({ code, stderr }).toEqual({
        code: 3,
        stderr:
          'plant-store: the database has no table access_tokens: apply the migrations of this release first\n',
      });
    } finally {
      await empty.drop();
    }
    expect(await tokenProcess('', 'list')).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/^plant-store: DATABASE_URL is not set, and no local.*\n$/),
    });
    expect(await tokenCommand('mysql://x', 'list')).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/^plant-store: DATABASE_URL must be/),
    });
  });
});

describe('plant-store token list', () => {
  it('has a line for each token, and JSON without secrets', async () => {
    const token = await create('--scope', 'plants:read');
    const { stdout } = await tokenCommand(database.url, 'list');
    const [header, ...lines] = stdout.split('\n');
    expect(header).toMatch(/^ID +NAME +SCOPES +CREATED +EXPIRES +LAST USED +STATUS$/);
    expect(lines.find((line) => line.startsWith(idOf(token)))).toMatch(
      / test +plants:read +\d{4}-\d\d-\d\d \d\d:\d\d +\d{4}-\d\d-\d\d \d\d:\d\d +never +active$/,
    );
    const json = JSON.parse(
      (await tokenCommand(database.url, 'list', '--json')).stdout,
    ) as object[];
    const listed = json.find((entry) => 'id' in entry && entry.id === idOf(token));
    expect(Object.keys(listed ?? {})).toEqual([
      'id',
      'name',
      'scopes',
      'previousExpiresAt',
      'createdAt',
      'issuedAt',
      'expiresAt',
      'revokedAt',
      'lastUsedAt',
      'status',
    ]);
    expect(listed).toMatchObject({ name: 'test', status: 'active', lastUsedAt: null });
  });
});

describe('plant-store token revoke', () => {
  it('stops a token within 10 seconds', async () => {
    const token = await create();
    expect(await call(plants, token)).toBe('200');
    const { code, stderr } = await tokenCommand(database.url, 'revoke', idOf(token));
    const revokedAt = performance.now();
    expect(code).toBe(0);
    expect(stderr).toMatch(new RegExp(`^revoked the token ${idOf(token)} \\(test\\) at 20`));
    await vi.waitFor(async () => expect(await call(plants, token)).toBe('401 40101'), {
      timeout: 10_000,
      interval: 100,
    });
    expect(performance.now() - revokedAt).toBeLessThan(10_000);
    expect(service.log.findLast(({ route }) => route === '/plants')).toMatchObject({
      refusal: 'revoked',
    });
    const again = await tokenCommand(database.url, 'revoke', idOf(token));
    expect(again).toMatchObject({ code: 0, stderr });
    const rotated = await tokenCommand(database.url, 'rotate', idOf(token));
    expect(rotated).toMatchObject({ code: 1, stdout: '' });
    expect(rotated.stderr).toContain('is revoked: create another');
  });

  it('refuses an id that nobody has, and does not repeat a token', async () => {
    expect(await tokenCommand(database.url, 'revoke', 'abcdefghijkl')).toEqual({
      code: 1,
      stdout: '',
      stderr: 'plant-store: there is no token abcdefghijkl\n',
    });
    const token = newToken(newTokenId());
    const { code, stderr } = await tokenCommand(database.url, 'revoke', token);
    expect(code).toBe(2);
    expect(stderr).not.toContain(token.slice(17));
  });
});

describe('plant-store token rotate', () => {
  it('gives a new secret at once, and accepts the old one for the grace', async () => {
    const old = await create('--expires', '10d');
    expect(await call(plants, old)).toBe('200');
    const current = await issue(database.url, 'rotate', idOf(old), '--grace', '8s');
    const rotatedAt = performance.now();
    expect(idOf(current)).toBe(idOf(old));
    expect(await call(plants, current)).toBe('200');
    expect(await call(plants, old)).toBe('200');
    expect(performance.now() - rotatedAt).toBeLessThan(8_000);
    await vi.waitFor(async () => expect(await call(plants, old)).toBe('401 40102'), {
      timeout: 10_000,
      interval: 100,
    });
    expect(await call(plants, current)).toBe('200');
    const [row] = await database.query(
      'SELECT (expires_at - issued_at)::text AS lifetime, issued_at > created_at AS anew FROM access_tokens WHERE id = $1',
      [idOf(old)],
    );
    expect(row).toEqual({ lifetime: '10 days', anew: true });
  });

  it('never lets the old secret outlive its own expiry, and keeps two secrets at most', async () => {
    const first = await create('--expires', '1h');
    const second = await issue(database.url, 'rotate', idOf(first), '--expires', 'never');
    const [row] = await database.query(
      `SELECT previous_expires_at - created_at <= interval '1 hour' AS bounded, expires_at FROM access_tokens WHERE id = $1`,
      [idOf(first)],
    );
    expect(row).toEqual({ bounded: true, expires_at: null });
    const third = await issue(database.url, 'rotate', idOf(first));
    const answers = [
      await call(plants, third),
      await call(plants, second),
      await call(plants, first),
    ];
    expect(answers).toEqual(['200', '200', '401 40101']);
  });

  it('leaves two secrets that work, whatever is rotated at a time', async () => {
    const token = await create();
    const rotated = await Promise.all(
      Array.from({ length: 3 }, () => issue(database.url, 'rotate', idOf(token))),
    );
    const answers = await Promise.all(rotated.map((secret) => call(plants, secret)));
    expect(answers.toSorted()).toEqual(['200', '200', '401 40101']);
  });
});

describe('an issued token', () => {
  it('expires to the second, without a reading', async () => {
    const token = await create('--expires', '6s');
    const [row] = await database.query('SELECT expires_at FROM access_tokens WHERE id = $1', [
      idOf(token),
    ]);
    const expiry = (row!['expires_at'] as Date).getTime();
    const answers: { readonly sent: number; readonly done: number; readonly answer: string }[] = [];
    while (Date.now() < expiry + 1_000) {
      const sent = Date.now();
      answers.push({ sent, answer: await call(plants, token), done: Date.now() });
    }
    expect(answers.filter(({ done }) => done < expiry).map(({ answer }) => answer)).not.toContain(
      '401 40102',
    );
    expect(
      new Set(answers.filter(({ sent }) => sent >= expiry).map(({ answer }) => answer)),
    ).toEqual(new Set(['401 40102']));
    expect(answers[0]?.answer).toBe('200');
  });

  it('with a typo is told in the log from one that nobody issued', async () => {
    const token = await create();
    const last = token.at(-1) === 'A' ? 'B' : 'A';
    expect(await call(plants, token.slice(0, -1) + last)).toBe('401 40101');
    expect(service.log.findLast(({ route }) => route === '/plants')).toMatchObject({
      refusal: 'malformed',
    });
    expect(await call(plants, newToken(newTokenId()))).toBe('401 40101');
    expect(service.log.findLast(({ route }) => route === '/plants')).toMatchObject({
      refusal: 'unknown-token',
    });
  });

  it('is not accepted if AUTH_ISSUED_TOKENS is false, and can be the only kind', async () => {
    const token = await create();
    const without = await startTestService({
      database,
      environment: { AUTH_ISSUED_TOKENS: 'false' },
    });
    expect(await call(`${without.url}/plants`, token)).toBe('401 40101');
    await without.stop();
    const only = await startTestService({
      database,
      environment: { AUTH_TOKEN: '', AUTH_ISSUED_TOKENS: 'true' },
    });
    expect(await call(`${only.url}/plants`, token)).toBe('200');
    await only.stop();
  });

  it('has the time of its last use after a shutdown', async () => {
    const token = await create();
    const other = await startTestService({ database });
    const before = Date.now();
    expect(await call(`${other.url}/plants`, token)).toBe('200');
    await other.stop();
    const [row] = await database.query('SELECT last_used_at FROM access_tokens WHERE id = $1', [
      idOf(token),
    ]);
    const used = (row!['last_used_at'] as Date).getTime();
    expect(used).toBeGreaterThanOrEqual(before);
    expect(used).toBeLessThanOrEqual(Date.now());
  });

  it('cannot be read from the database', async () => {
    const token = await create();
    const tables = await database.query(
      "SELECT tablename FROM pg_tables WHERE schemaname = 'public'",
    );
    for (const { tablename } of tables) {
      const rows = await database.query(`SELECT t::text FROM "${String(tablename)}" AS t`);
      expect(JSON.stringify(rows)).not.toContain(token.slice(17, 39));
    }
    expect(JSON.stringify(service.log)).not.toContain(token.slice(17, 39));
  });
});

describe('a flood of tokens that nobody issued', () => {
  it('costs the database at most one statement each second', async () => {
    const client = new Client({ connectionString: database.url });
    await client.connect();
    const other = await startTestService({ database });
    const readings = async () => {
      await client.query('SELECT pg_stat_force_next_flush()');
      const { rows } = await client.query<{ count: number }>(
        "SELECT seq_scan::int AS count FROM pg_stat_user_tables WHERE relname = 'access_tokens'",
      );
      return rows[0]?.count ?? NaN;
    };
    // The sessions report their statistics at most once a second.
    await sleep(1_500);
    const before = await readings();
    const begin = performance.now();
    const wrong = Array.from({ length: 2_000 }, (_, i) =>
      i % 2 === 0 ? newToken(newTokenId()) : `${newToken(newTokenId()).slice(0, -1)}!`,
    );
    const answers = await Promise.all(wrong.map((token) => call(`${other.url}/plants`, token)));
    const known = await call(`${other.url}/plants`, await create());
    const seconds = (performance.now() - begin) / 1_000;
    await sleep(1_500);
    const added = (await readings()) - before;
    await other.stop();
    await client.end();
    expect([...new Set(answers)].toSorted()).toEqual(['401 40101']);
    expect(known).toBe('200');
    // Two services, each with one reading per second; the command; two scans at most in each reading.
    expect(added).toBeLessThan(2 * 2 * (seconds + 3) + 5);
  });
});

describe('while the database is away', () => {
  it('is accepted by the guard, and what needs no database is answered as ever', async () => {
    const token = await create();
    const link = await FaultyLink.to(database.url);
    const other = await startTestService({ database: given(link.url) });
    try {
      expect(await call(`${other.url}/plants`, token)).toBe('200');
      link.poison({ kind: 'down' });
      await vi.waitFor(async () =>
        expect(await call(`${other.url}/plants`, token)).toBe('503 50300'),
      );
      // After the guard: the body is no plant.
      const response = await fetch(`${other.url}/plants`, {
        method: 'POST',
        headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
        body: '{}',
      });
      expect(await response.json()).toMatchObject({ error: 40003 });
      expect(await call(`${other.url}/plants`, newToken(newTokenId()))).toBe('503 50300');
      expect(await call(`${other.url}/plants`, `${token}x`)).toBe('401 40101');
      link.cure();
      await vi.waitFor(async () => expect(await call(`${other.url}/plants`, token)).toBe('200'), {
        timeout: 20_000,
      });
    } finally {
      link.cure();
      await other.stop();
      await link.close();
    }
  });
});
