import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { newTokenId } from '../../packages/framework/src/auth/issued-tokens/token-format.js';
import { FaultyLink } from '../support/faulty-link.js';
import { FORMAT, call, issue, storedToken, tokenCommand } from '../support/issued-tokens.js';
import { idOf } from '../../packages/framework/test/support/tokens.js';
import { PATIENCE } from '../../packages/framework/test/support/patience.js';
import { createMigratedDatabase } from '../support/migrated-database.js';
import { given } from '../../packages/framework/test/support/test-database.js';
import type { TestDatabase } from '../../packages/framework/test/support/test-database.js';
import { startTestService } from '../support/test-service.js';
import type { TestService } from '../support/test-service.js';

let database: TestDatabase;
let service: TestService;
let plants: string;

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

/** Why the service refuses a token, by its log. */
async function refusalOf(token: string): Promise<unknown> {
  const { headers } = await fetch(plants, { headers: { Authorization: `Bearer ${token}` } });
  const id = headers.get('X-Request-Id');
  return service.log.find(({ requestId }) => requestId === id)?.['refusal'];
}

// Together, because they wait for time to pass.
describe.concurrent('plant-store token revoke', () => {
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
    expect(await refusalOf(token)).toBe('revoked');
    const again = await tokenCommand(database.url, 'revoke', idOf(token));
    expect(again).toMatchObject({ code: 0, stderr });
    const rotated = await tokenCommand(database.url, 'rotate', idOf(token));
    expect(rotated).toMatchObject({ code: 1, stdout: '' });
    expect(rotated.stderr).toContain('is revoked: create another');
  });
});

describe.concurrent('plant-store token rotate', () => {
  it('gives a new secret at once, and accepts the old one for the grace', async () => {
    const old = await create('--expires', '10d');
    expect(await call(plants, old)).toBe('200');
    const current = await issue(database.url, 'rotate', idOf(old), '--grace', '12s');
    const rotatedAt = performance.now();
    expect(idOf(current)).toBe(idOf(old));
    expect(await call(plants, current)).toBe('200');
    expect(await call(plants, old)).toBe('200');
    expect(performance.now() - rotatedAt).toBeLessThan(12_000);
    await vi.waitFor(async () => expect(await call(plants, old)).toBe('401 40102'), {
      timeout: 2 * PATIENCE,
      interval: 100,
    });
    expect(await call(plants, current)).toBe('200');
    const columns = '(expires_at - issued_at)::text AS lifetime, issued_at > created_at AS anew';
    expect(await storedToken(database, old, columns)).toEqual({ lifetime: '10 days', anew: true });
  });

  it('never lets the old secret outlive its own expiry, and keeps two secrets at most', async () => {
    const first = await create('--expires', '1h');
    const second = await issue(database.url, 'rotate', idOf(first), '--expires', 'never');
    const columns = "previous_expires_at - created_at <= interval '1 hour' AS bounded, expires_at";
    const bounded = { bounded: true, expires_at: null };
    expect(await storedToken(database, first, columns)).toEqual(bounded);
    const third = await issue(database.url, 'rotate', idOf(first), '--end-grace');
    expect(await call(plants, third)).toBe('200');
    expect(await call(plants, second)).toBe('200');
    expect(await call(plants, first)).toBe('401 40101');
  });

  it('does not end the grace of an earlier rotation, unless it is told to', async () => {
    const first = await create();
    const second = await issue(database.url, 'rotate', idOf(first), '--grace', '1h');
    const refused = await tokenCommand(database.url, 'rotate', idOf(first));
    const reason = `the token ${idOf(first)} has the grace of an earlier rotation until 20.*--end-grace`;
    const stderr = expect.stringMatching(reason) as string;
    expect(refused).toEqual({ code: 1, stdout: '', stderr });
    expect(await call(plants, first)).toBe('200');
    expect(await call(plants, second)).toBe('200');
    const third = await issue(database.url, 'rotate', idOf(first), '--end-grace', '--grace', '0s');
    expect(await call(plants, third)).toBe('200');
    expect(await call(plants, first)).toBe('401 40101');
    // The grace of none is over.
    expect(await call(plants, await issue(database.url, 'rotate', idOf(first)))).toBe('200');
  });

  it('has one winner, whatever is rotated at a time', async () => {
    const token = await create();
    const rotations = await Promise.all(
      Array.from({ length: 3 }, () => tokenCommand(database.url, 'rotate', idOf(token))),
    );
    const won = rotations.filter(({ code }) => code === 0);
    expect(won).toHaveLength(1);
    expect(await call(plants, won[0]!.stdout.trim())).toBe('200');
    expect(await call(plants, token)).toBe('200');
  });
});

describe.concurrent('an issued token', () => {
  it('expires to the second, without a reading', async () => {
    const token = await create('--expires', '10s');
    const { expires_at: expires } = await storedToken(database, token, 'expires_at');
    const expiry = (expires as Date).getTime();
    const answers: { readonly sent: number; readonly done: number; readonly answer: string }[] = [];
    while ((answers.at(-1)?.sent ?? 0) < expiry + 1_000) {
      const sent = Date.now();
      answers.push({ sent, answer: await call(plants, token), done: Date.now() });
      await sleep(5);
    }
    const before = answers.filter(({ done }) => done < expiry);
    const after = answers.filter(({ sent }) => sent >= expiry);
    expect(before.map(({ answer }) => answer)).not.toContain('401 40102');
    expect(new Set(after.map(({ answer }) => answer))).toEqual(new Set(['401 40102']));
    expect(answers[0]?.answer).toBe('200');
  });

  it('with a typo is told in the log from one that nobody issued', async () => {
    const token = await create();
    const last = token.at(-1) === 'A' ? 'B' : 'A';
    const wrong = [token.slice(0, -1) + last, FORMAT.create(newTokenId())];
    for (const each of wrong) expect(await call(plants, each)).toBe('401 40101');
    expect(await Promise.all(wrong.map(refusalOf))).toEqual(['malformed', 'unknown-token']);
  });

  it('is not accepted if AUTH_ISSUED_TOKENS is false, and can be the only kind', async () => {
    const token = await create();
    const answers = [
      { AUTH_ISSUED_TOKENS: 'false' },
      { AUTH_TOKEN: '', AUTH_ISSUED_TOKENS: 'true' },
    ].map(async (environment) => {
      const other = await startTestService({ database, environment });
      const answer = await call(`${other.url}/plants`, token);
      await other.stop();
      return answer;
    });
    expect(await Promise.all(answers)).toEqual(['401 40101', '200']);
  });

  it('comes from a register whose age the metrics show', async () => {
    const text = await (await fetch(`${service.managementUrl}/metrics`)).text();
    const [, age] = /^plant_store_issued_tokens_age_seconds (\d.*)$/m.exec(text) ?? [];
    expect(Number(age)).toBeLessThan(10);
  });

  it('has the time of its last use after a shutdown', async () => {
    const token = await create();
    const other = await startTestService({ database });
    const before = Date.now();
    expect(await call(`${other.url}/plants`, token)).toBe('200');
    await other.stop();
    const { last_used_at: last } = await storedToken(database, token, 'last_used_at');
    const used = (last as Date).getTime();
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

describe.concurrent('while the database is away', () => {
  it('is accepted by the guard, and what needs no database is answered as ever', async () => {
    const token = await create();
    const link = await FaultyLink.to(database.url);
    const other = await startTestService({ database: given(link.url) });
    try {
      expect(await call(`${other.url}/plants`, token)).toBe('200');
      link.poison({ kind: 'down' });
      await vi.waitFor(
        async () => expect(await call(`${other.url}/plants`, token)).toBe('503 50300'),
        PATIENCE,
      );
      // After the guard: the body is no plant.
      const response = await fetch(`${other.url}/plants`, {
        method: 'POST',
        headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
        body: '{}',
      });
      expect(await response.json()).toMatchObject({ error: 40003 });
      expect(await call(`${other.url}/plants`, FORMAT.create(newTokenId()))).toBe('503 50300');
      expect(await call(`${other.url}/plants`, `${token}x`)).toBe('401 40101');
      link.cure();
      await vi.waitFor(async () => expect(await call(`${other.url}/plants`, token)).toBe('200'), {
        timeout: PATIENCE,
      });
    } finally {
      link.cure();
      await other.stop();
      await link.close();
    }
  });
});

describe('a row that was written by hand', () => {
  const HASH = `sha256(convert_to($1, 'UTF8'))`;
  const ROWS: readonly (readonly [string, Readonly<Record<string, string>>, string])[] = [
    ['is as the command writes it', {}, '200'],
    ['never expires', { expires_at: 'NULL' }, '200'],
    ['expires at infinity', { expires_at: `'infinity'` }, '200'],
    ['has expired for ever', { expires_at: `'-infinity'` }, '401 40102'],
    ['has expired before Christ', { expires_at: `'0044-03-15 BC'` }, '401 40102'],
    ['expires in a year that no Date has', { expires_at: `'290000-01-01'` }, '200'],
    ['is revoked in the future', { revoked_at: `'infinity'` }, '401 40101'],
    ['has an empty hash', { secret_hash: `''` }, '401 40101'],
    ['has a short hash', { secret_hash: `substr(${HASH}, 1, 31)` }, '401 40101'],
    ['has a long hash', { secret_hash: `${HASH} || '\\x00'` }, '401 40101'],
    ['has the text of a hash', { secret_hash: `convert_to(${HASH}::text, 'UTF8')` }, '401 40101'],
    ['has the hash of another', { secret_hash: `sha256('other')` }, '401 40101'],
    ['has no hash', { secret_hash: 'NULL' }, '401 40101'],
    [
      'has an old hash only',
      { secret_hash: `''`, previous_hash: HASH, previous_expires_at: `'infinity'` },
      '200',
    ],
    [
      'has an old hash that expires at no time',
      { secret_hash: `''`, previous_hash: HASH, previous_expires_at: 'NULL' },
      '401 40102',
    ],
    [
      'has an old hash that is none',
      { previous_hash: `'x'`, previous_expires_at: `'infinity'` },
      '200',
    ],
    ['has no scopes', { scopes: `'{}'` }, '403 40300'],
    ['has null as scopes', { scopes: 'NULL' }, '403 40300'],
    ['has null as a scope', { scopes: `'{NULL}'` }, '403 40300'],
    ['has nested scopes', { scopes: `'{{plants:read}}'` }, '403 40300'],
    ['has all scopes in one', { scopes: `'{plants:read plants:write}'` }, '403 40300'],
    ['has a word for all scopes', { scopes: `'{all,*}'` }, '403 40300'],
    ['has no name', { name: 'NULL' }, '200'],
    ['has another id', { id: `'x' || $2` }, '401 40101'],
  ];

  it('never fails a request, and what cannot be read is refused', async () => {
    const own = await createMigratedDatabase();
    for (const column of ['name', 'scopes', 'secret_hash']) {
      await own.query(`ALTER TABLE access_tokens ALTER ${column} DROP NOT NULL`);
    }
    const tokens = ROWS.map(() => FORMAT.create(newTokenId()));
    for (const [index, [, changes]] of ROWS.entries()) {
      const row: Record<string, string> = {
        id: '$2',
        name: `'by hand'`,
        scopes: `'{plants:read}'`,
        secret_hash: HASH,
        ...changes,
      };
      await own.query(
        `INSERT INTO access_tokens (${Object.keys(row).join()}) SELECT ${Object.values(row).join()}
          FROM (SELECT $1::text, $2::text) AS used`,
        [tokens[index], idOf(tokens[index]!)],
      );
    }
    const other = await startTestService({ database: own });
    const answers = await Promise.all(tokens.map((token) => call(`${other.url}/plants`, token)));
    expect(ROWS.map(([name], index) => [name, answers[index]])).toEqual(
      ROWS.map(([name, , answer]) => [name, answer]),
    );
    const { code, stdout } = await tokenCommand(own.url, 'list', '--json');
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toHaveLength(ROWS.length);
    await other.stop();
    await own.drop();
  });
});

// Alone, because it leaves others no time.
describe('a flood of tokens that nobody issued', () => {
  it('costs the database at most one statement each second', async () => {
    const own = await createMigratedDatabase();
    const client = new Client({ connectionString: own.url });
    await client.connect();
    const other = await startTestService({ database: own });
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
    const wrong = Array.from({ length: 600 }, (_, i) =>
      i % 2 === 0 ? FORMAT.create(newTokenId()) : `${FORMAT.create(newTokenId()).slice(0, -1)}!`,
    );
    const answers = await Promise.all(wrong.map((token) => call(`${other.url}/plants`, token)));
    const token = await issue(own.url, 'create', '--name', 'test');
    const known = await call(`${other.url}/plants`, token);
    const seconds = (performance.now() - begin) / 1_000;
    await sleep(1_500);
    const added = (await readings()) - before;
    await other.stop();
    await client.end();
    await own.drop();
    expect([...new Set(answers)].toSorted()).toEqual(['401 40101']);
    expect(known).toBe('200');
    // One reading per second; the command; two scans at most in each reading.
    expect(added).toBeLessThan(2 * (seconds + 3) + 5);
  });
});
