import { afterAll, beforeAll, describe, expect, inject, it, vi } from 'vitest';
import { createDataSource, SCHEMA } from '../support/data-source.js';
import { followEvents } from '../../packages/framework/test/support/event-source.js';
import { call, issue, tokenCommand } from '../support/issued-tokens.js';
import { idOf } from '../../packages/framework/test/support/tokens.js';
import { OwnPostgres } from '../support/own-postgres.js';
import { PATIENCE } from '../../packages/framework/test/support/patience.js';
import { lockPlants, WAIT_FOR_LOCKS } from '../support/plants-lock.js';
import { startPooler } from '../support/pooler.js';
import type { Pooler } from '../support/pooler.js';
import { dropRole, migrate, newRole, PASSWORD, quoted, urlAs } from '../support/roles.js';
import { EXPECTED, SETTINGS, valuesAt } from '../support/session-settings.js';
import { createMigratedDatabase } from '../support/migrated-database.js';
import { createTestDatabase, given } from '../../packages/framework/test/support/test-database.js';
import type { TestDatabase } from '../../packages/framework/test/support/test-database.js';
import { startTestService, TOKEN } from '../support/test-service.js';
import type { TestService } from '../support/test-service.js';

const WAYS = ['in sessions of its own', 'behind a pooler'] as const;

/** Makes the settings those of each later session with the database. */
async function set(
  database: TestDatabase,
  settings: typeof SETTINGS,
  owner = `DATABASE ${new URL(database.url).pathname.slice(1)}`,
): Promise<void> {
  for (const [name, value] of settings) {
    await database.query(`ALTER ${owner} SET ${name} = '${value}'`);
  }
}

describe.each(WAYS)('%s', (way) => {
  let database: TestDatabase;
  let pooler: Pooler | undefined;
  let url: string;

  beforeAll(async () => {
    database = await createMigratedDatabase();
    if (way === 'behind a pooler') pooler = await startPooler(database.url);
    url = pooler?.url ?? database.url;
  });

  afterAll(async () => {
    await pooler?.stop();
    await database.drop();
  });

  it.each<readonly [name: string, value: string]>([
    ...SETTINGS,
    ['DateStyle', 'SQL, DMY'],
    ['DateStyle', 'Postgres, MDY'],
    ['TimeZone', 'FOO+3:14'],
    ['client_encoding', 'SQL_ASCII'],
    ['default_transaction_isolation', 'repeatable read'],
  ])('the service reads and writes the same values with %s = %s', async (name, value) => {
    await set(database, [[name, value]]);
    expect(await valuesAt(url)).toEqual(EXPECTED);
    await database.query(`ALTER DATABASE ${new URL(database.url).pathname.slice(1)} RESET ${name}`);
  });

  describe('with all of these settings', () => {
    let service: TestService;
    let plants: string;

    beforeAll(async () => {
      await set(database, SETTINGS);
      // Of a shared session, the pooler takes care.
      if (pooler === undefined) await set(database, [['idle_session_timeout', '200']]);
      service = await startTestService({ database: given(url), parameters: WAIT_FOR_LOCKS });
      plants = `${service.url}/plants`;
    });

    afterAll(() => service.stop());

    const create = (...args: readonly string[]) => issue(url, 'create', '--name', 'test', ...args);
    const refused = (token: string, answer: string) =>
      vi.waitFor(async () => expect(await call(plants, token)).toBe(answer), PATIENCE);

    it.concurrent(
      'a revoked token is refused, and the command says when it was revoked',
      async () => {
        const token = await create();
        expect(await call(plants, token)).toBe('200');
        const revoked = await tokenCommand(url, 'revoke', idOf(token));
        expect(revoked.stderr).toMatch(/ at 20\d\d-\d\d-\d\dT[\d:.]+Z\n$/);
        await refused(token, '401 40101');
      },
    );

    it.concurrent('an expired token is refused', async () => {
      const token = await create('--expires', '1s');
      await refused(token, '401 40102');
    });

    it.concurrent(
      'the old secret of a token is accepted for its grace, and not after it',
      async () => {
        const old = await create();
        await issue(url, 'rotate', idOf(old), '--grace', '1h');
        expect(await call(plants, old)).toBe('200');
        await issue(url, 'rotate', idOf(old), '--grace', '0s', '--end-grace');
        await refused(old, '401 40101');
      },
    );

    it('the tokens are listed with their times', async () => {
      const token = await create('--expires', '10d');
      const { stdout } = await tokenCommand(url, 'list');
      expect(stdout.split('\n').find((line) => line.startsWith(idOf(token)))).toMatch(
        / 20\d\d-\d\d-\d\d \d\d:\d\d +20\d\d-\d\d-\d\d \d\d:\d\d +never +active$/,
      );
    });

    it('a group of creates stores what was sent, and a search finds it', async () => {
      // While one create waits for the lock, the others become a group.
      const unlock = await lockPlants(database);
      const names = Array.from({ length: 40 }, (_, n) => `Straße ${n} \\ ü€`);
      const posted = names.map((name, id) => service.post({ id, name }));
      await vi.waitFor(async () => {
        const metrics = await (await fetch(`${service.managementUrl}/metrics`)).text();
        expect(metrics).toMatch(/^plant_store_creations_waiting\{resource="plants"\} [1-9]/m);
      }, PATIENCE);
      await unlock();
      expect((await Promise.all(posted)).map(({ json }) => json)).toEqual(
        names.map((name) => ({ name })),
      );
      const found = await service.request('GET', '/plants?name=STRASSE&limit=100');
      expect(found.json).toEqual(names.map((name, id) => ({ id, name })));
    });

    it('changes are read as pages and as a stream, with their times', async () => {
      await service.post({ id: 1_000, name: 'a' });
      const headers = { Authorization: `Bearer ${TOKEN}` };
      const stream = await followEvents(`${service.url}/changes?plant=1000`, headers);
      const [stored] = await stream.take(1);
      await service.request('DELETE', '/plants/1000');
      const [removed] = await stream.take(1);
      stream.close();
      const page = await service.request('GET', '/changes?plant=1000');
      expect(page.json).toEqual([stored!.data, removed!.data]);
      expect(stored!.data['time']).toMatch(/^20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    });
  });
});

describe('a role with settings of its own', () => {
  let database: TestDatabase;
  let url: string;
  const name = newRole();

  beforeAll(async () => {
    database = await createMigratedDatabase();
    await migrate(database, { role: { name, password: PASSWORD }, schema: SCHEMA });
    url = urlAs(name, database);
  });

  afterAll(async () => {
    await dropRole(name, database);
    await database.drop();
  });

  it('is served with a German date style, and its revoked tokens are refused', async () => {
    await set(database, [['DateStyle', 'German']], `ROLE ${quoted(name)}`);
    const token = await issue(url, 'create', '--name', 'test');
    await tokenCommand(url, 'revoke', idOf(token));
    const service = await startTestService({
      database: given(url),
      environment: { DATABASE_MIGRATE_ON_START: 'false' },
    });
    expect(await call(`${service.url}/plants`, token)).toBe('401 40101');
    await service.stop();
  });

  it('is refused if constraints do not hold for it, and it may not change that', async () => {
    await set(database, [['session_replication_role', 'replica']], `ROLE ${quoted(name)}`);
    await expect(valuesAt(url)).rejects.toMatchObject({ code: '42501' });
  });
});

describe('the migrations', () => {
  it('are applied with all of these settings', async () => {
    const database = await createTestDatabase();
    await set(database, [...SETTINGS, ['idle_session_timeout', '100']]);
    const service = await startTestService({ database });
    expect((await service.post({ id: 1, name: 'a' })).status).toBe(200);
    await service.stop();
    await database.drop();
  });
});

describe('a time in a form that the driver cannot read', () => {
  it.each([
    "timestamptz '2024-02-03 04:05:06Z'",
    "timestamp '2024-02-03 04:05:06'",
    "date '2024-02-03'",
    "ARRAY[timestamptz '2024-02-03 04:05:06Z']",
  ])('fails, instead of being null: %s', async (value) => {
    const dataSource = await createDataSource(inject('postgresUrl')).initialize();
    try {
      const read = dataSource.transaction(async (manager) => {
        await manager.query("SET LOCAL DateStyle = 'German'");
        return manager.query(`SELECT ${value} AS time`);
      });
      await expect(read).rejects.toThrow(/the driver cannot read the time "03\.02\.2024/);
    } finally {
      await dataSource.destroy();
    }
  });

  it.each(["timestamptz '-infinity'", "date 'infinity'"])('also %s', async (value) => {
    const dataSource = await createDataSource(inject('postgresUrl')).initialize();
    await expect(dataSource.query(`SELECT ${value}`)).rejects.toThrow(/cannot read the time/);
    await dataSource.destroy();
  });
});

describe('a session of its own', () => {
  it('keeps its values when the server reloads its configuration', async () => {
    const postgres = await OwnPostgres.start();
    const dataSource = createDataSource(postgres.url);
    await dataSource.initialize();
    const values = (query: (sql: string) => Promise<unknown>) =>
      query(
        `SELECT current_setting('synchronous_commit') AS commit, current_setting('lock_timeout') AS lock,
           current_setting('idle_in_transaction_session_timeout') AS idle`,
      );
    try {
      const before = await values((sql) => dataSource.query(sql));
      const changed = { commit: 'off', lock: '7s', idle: '9s' };
      expect(before).not.toEqual([changed]);
      await postgres.query('ALTER SYSTEM SET synchronous_commit = off');
      await postgres.query("ALTER SYSTEM SET lock_timeout = '7s'");
      await postgres.query("ALTER SYSTEM SET idle_in_transaction_session_timeout = '9s'");
      await postgres.query('SELECT pg_reload_conf()');
      await vi.waitFor(
        async () => expect(await values((sql) => postgres.query(sql))).toEqual([changed]),
        PATIENCE,
      );
      // A session reloads before its next statement.
      await dataSource.query('SELECT 1');
      expect(await values((sql) => dataSource.query(sql))).toEqual(before);
    } finally {
      await dataSource.destroy();
      await postgres.stop();
    }
  });
});
