import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { newTokenId } from '../../packages/framework/src/auth/issued-tokens/token-format.js';
import {
  FORMAT,
  call,
  issue,
  storedToken,
  tokenCommand,
  tokenProcess,
} from '../support/issued-tokens.js';
import { idOf } from '../../packages/framework/test/support/tokens.js';
import { Run } from '../support/plant-store-command.js';
import { createMigratedDatabase } from '../support/migrated-database.js';
import { createTestDatabase } from '../../packages/framework/test/support/test-database.js';
import type { TestDatabase } from '../../packages/framework/test/support/test-database.js';
import { startTestService } from '../support/test-service.js';
import type { TestService } from '../support/test-service.js';

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

const stored = (token: string, columns: string) => storedToken(database, token, columns);

/** The line of a token in the list. */
async function lineOf(token: string): Promise<string | undefined> {
  const { stdout } = await tokenCommand(database.url, 'list');
  return stdout.split('\n').find((line) => line.startsWith(idOf(token)));
}

describe('plant-store token create', () => {
  it('prints the token alone, and the rest to stderr', async () => {
    const args = 'create --scope plants:read --expires 30m --name'.split(' ');
    const { code, stdout, stderr } = await tokenProcess(database.url, ...args, 'nightly import');
    expect(code).toBe(0);
    expect(stdout).toMatch(/^pst_[0-9A-Za-z]{12}_[0-9A-Za-z]{28}\n$/);
    const id = idOf(stdout);
    expect(stderr).toMatch(new RegExp(`^issued the token ${id} with plants:read, until 20.*Z\n`));
    const columns = 'name, scopes, (expires_at - created_at)::text AS lifetime, last_used_at';
    expect(await stored(stdout, columns)).toEqual({
      name: 'nightly import',
      scopes: ['plants:read'],
      lifetime: '00:30:00',
      last_used_at: null,
    });
  });

  it('issues a token with all scopes for 90 days, which works at once', async () => {
    const token = await create();
    expect(await call(plants, token, 'POST')).toBe('200');
    expect(await call(plants, token)).toBe('200');
    expect(service.log.findLast(({ route }) => route === '/plants')).toMatchObject({
      principalKind: 'issued-token',
      principalId: idOf(token),
    });
    const lifetime = await stored(token, '(expires_at - created_at)::text AS lifetime');
    expect(lifetime).toEqual({ lifetime: '90 days' });
  });

  it('issues a token that never expires only if it is asked to', async () => {
    const token = await create('--expires', 'never');
    expect(await call(plants, token)).toBe('200');
    expect(await lineOf(token)).toContain(' never ');
  });

  it.each([
    [['--scope', 'plants:delete'], /must be one of .*plants:read, plants:write/],
    [['--expires', '0d'], /at most 3650d/],
    [['--expires', '3651d'], /at most 3650d/],
    [['--expires', '90'], /It has no unit: d, h, m and s are days/],
    [['--expires', '1y'], /There is no unit y: d, h, m and s are days/],
    [['--name', ''], /1 to 100 characters/],
    [['--name', 'a\u001b[2Jb'], /control character/],
  ])('refuses %j before it connects', async (args, complaint) => {
    const all = ['create', '--name', 'test', ...args];
    const stderr = expect.stringMatching(complaint) as string;
    expect(await tokenCommand(unused, ...all)).toEqual({ code: 2, stdout: '', stderr });
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
    expect(await tokenCommand(empty.url, 'list')).toMatchObject({
      code: 3,
      stderr:
        'plant-store: the database has no table access_tokens: apply the migrations of this release first\n',
    });
    await empty.drop();
    const other = await createMigratedDatabase();
    await other.query('ALTER TABLE access_tokens RENAME COLUMN name TO label');
    expect(await tokenCommand(other.url, 'list')).toMatchObject({
      code: 3,
      stderr: expect.stringMatching(
        /^plant-store: the database failed: .*column "name" does not exist.*\n$/,
      ),
    });
    await other.drop();
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

describe('plant-store token with AUTH_ISSUED_TOKENS=false', () => {
  const run = (...args: readonly string[]) =>
    new Run('', ['token', ...args], {
      env: { DATABASE_URL: database.url, AUTH_ISSUED_TOKENS: 'false' },
    }).result;

  it('issues no token and no secret, because the service would not accept it', async () => {
    const id = idOf(await create());
    const rows = () => database.query('SELECT * FROM access_tokens ORDER BY id');
    const before = await rows();
    for (const answer of [run('create', '--name', 'refused'), run('rotate', id)]) {
      expect(await answer).toEqual({
        code: 2,
        stdout: '',
        stderr:
          'plant-store: AUTH_ISSUED_TOKENS is false, so the service would not accept the token: set it to true first\n',
      });
    }
    expect(await rows()).toEqual(before);
  });

  it('lists and revokes', async () => {
    const id = idOf(await create());
    expect(await run('revoke', id)).toMatchObject({ code: 0 });
    expect((await run('list')).stdout).toContain(id);
  });
});

describe('plant-store token without DATABASE_URL', () => {
  it('takes it from the file .env of its folder, or says that there is none', async () => {
    const before = process.cwd();
    const folder = await mkdtemp(join(tmpdir(), 'plant-store-token-'));
    process.chdir(folder);
    try {
      const list = () => new Run('', ['token', 'list'], { env: {} }).result;
      const stderr = expect.stringMatching(/DATABASE_URL is not set/) as string;
      expect(await list()).toMatchObject({ code: 2, stderr });
      await writeFile('.env', `DATABASE_URL=${database.url}\n`);
      expect(await list()).toMatchObject({ code: 0, stderr: '' });
    } finally {
      process.chdir(before);
      await rm(folder, { recursive: true });
    }
  });
});

describe('plant-store token list', () => {
  it('has a line for each token, and JSON without secrets', async () => {
    const token = await create('--scope', 'plants:read');
    const { stdout } = await tokenCommand(database.url, 'list');
    expect(stdout).toMatch(/^ID +NAME +SCOPES +CREATED +EXPIRES +LAST USED +STATUS\n/);
    expect(await lineOf(token)).toMatch(
      / test +plants:read +\d{4}-\d\d-\d\d \d\d:\d\d +\d{4}-\d\d-\d\d \d\d:\d\d +never +active$/,
    );
    const json = await tokenCommand(database.url, 'list', '--json');
    const all = JSON.parse(json.stdout) as readonly Readonly<Record<string, unknown>>[];
    const listed = all.find(({ id }) => id === idOf(token)) ?? {};
    expect(Object.keys(listed).join(' ')).toBe(
      'id name scopes previousExpiresAt createdAt issuedAt expiresAt revokedAt lastUsedAt status',
    );
    expect(listed).toMatchObject({ name: 'test', status: 'active', lastUsedAt: null });
  });

  it('has the end of the old secret of a token that was rotated, its last use and no expiry', async () => {
    const token = await create();
    await issue(database.url, 'rotate', idOf(token), '--expires', 'never');
    await change(token, "last_used_at = '2026-11-25T10:00:59Z'");
    expect(await lineOf(token)).toMatch(
      / never +2026-11-25 10:00 +active, old secret until \d{4}-\d\d-\d\d \d\d:\d\d$/,
    );
  });

  it('has a token whose expiry was set to infinity by hand as one that never expires', async () => {
    const token = await create();
    await change(token, "expires_at = 'infinity'");
    expect(await call(plants, token)).toBe('200');
    expect(await lineOf(token)).toMatch(/ never +.*active$/);
    expect(await call(plants, await issue(database.url, 'rotate', idOf(token)))).toBe('200');
    expect(await lineOf(token)).toMatch(/ never .*active, old secret until /);
  });

  function change(token: string, values: string) {
    return database.query(`UPDATE access_tokens SET ${values} WHERE id = $1`, [idOf(token)]);
  }
});

describe('plant-store token revoke', () => {
  it('fails if the database does not store the time', async () => {
    const other = await createMigratedDatabase();
    try {
      await other.query(`CREATE FUNCTION keep() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN NEW.revoked_at := NULL; RETURN NEW; END $$`);
      await other.query(
        'CREATE TRIGGER keep BEFORE UPDATE ON access_tokens FOR EACH ROW EXECUTE FUNCTION keep()',
      );
      const token = await issue(other.url, 'create', '--name', 'test');
      expect(await tokenCommand(other.url, 'revoke', idOf(token))).toEqual({
        code: 3,
        stdout: '',
        stderr: 'plant-store: the database has not stored the time\n',
      });
    } finally {
      await other.drop();
    }
  });

  it('fails on a database whose sessions are read-only', async () => {
    const token = await create();
    const url = `${database.url}?options=-c%20default_transaction_read_only%3Don`;
    expect(await tokenCommand(url, 'revoke', idOf(token))).toMatchObject({
      code: 3,
      stderr: expect.stringMatching(/^plant-store: the database failed: .*read-only/),
    });
    expect(await call(plants, token)).toBe('200');
  });

  it('refuses an id that nobody has, and does not repeat a token', async () => {
    expect(await tokenCommand(database.url, 'revoke', 'abcdefghijkl')).toEqual({
      code: 1,
      stdout: '',
      stderr: 'plant-store: there is no token abcdefghijkl\n',
    });
    const token = FORMAT.create(newTokenId());
    const { code, stderr } = await tokenCommand(database.url, 'revoke', token);
    expect(code).toBe(2);
    expect(stderr).not.toContain(token.slice(17));
  });
});
