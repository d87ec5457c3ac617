import { Client } from 'pg';
import { describe, expect, vi } from 'vitest';
import { Crowd, TOKEN } from '../support/crowd.js';
import { itBehindPgBouncer } from '../support/deployment.js';
import { PATIENCE } from '../../packages/framework/test/support/patience.js';
import { PgBouncer, SESSIONS } from '../support/pgbouncer.js';
import { call, issue, tokenCommand } from '../support/issued-tokens.js';
import { idOf } from '../../packages/framework/test/support/tokens.js';
import { isRefusedFor503, isServed } from '../support/reckoning.js';
import { EXPECTED, SETTINGS, valuesAt } from '../support/session-settings.js';
import { expectQuickRefusals, expectReckoning, expectRecovery } from '../support/verdicts.js';

const it = itBehindPgBouncer.extend<{ readonly crowd: Crowd }>({
  crowd: async ({ replicas }, use) => {
    const crowd = new Crowd({ urls: replicas.map(({ url }) => url) });
    await crowd.served(300);
    await use(crowd);
    await crowd.stop();
  },
});

describe('behind PgBouncer in transaction mode', () => {
  it('two replicas share fewer sessions than they have connections', async ({
    postgres,
    replicas,
    crowd,
  }) => {
    await crowd.served(1_000);
    expect((await postgres.backends()).length).toBeLessThanOrEqual(SESSIONS);
    const connections = await Promise.all(replicas.map((replica) => replica.connections()));
    expect(connections[0]! + connections[1]!).toBeGreaterThan(SESSIONS);
    await expectReckoning(crowd, postgres, ...replicas);
    expect(crowd.attempts.filter((attempt) => !isServed(attempt))).toEqual([]);
  });

  it('the index of searches gets the new names', async ({ postgres, replicas: [replica] }) => {
    await postgres.query('CREATE EXTENSION pgstattuple');
    const response = await replica.send('POST', '/plants', { id: -1, name: 'x'.repeat(80_000) });
    expect(response.status).toBe(200);
    const pending = "SELECT pending_tuples::int FROM pgstatginindex('plants_name_search_idx')";
    await vi.waitFor(
      async () => expect(await postgres.query(pending)).toEqual([{ pending_tuples: 0 }]),
      PATIENCE,
    );
  });

  itBehindPgBouncer(
    'a replica leaves the tables of another instance alone, in a schema behind its own',
    async ({ postgres, pgBouncer, start }) => {
      const direct = { DATABASE_URL: postgres.url };
      const other = await start(direct);
      await other.create(1);
      await other.terminate();
      await postgres.query(
        'CREATE SCHEMA own; ALTER ROLE CURRENT_USER SET search_path = own, public',
      );
      // Migrations that build indexes cannot set the search path of a session that others share.
      await (await start(direct)).terminate();
      // Its sessions have the search path of before.
      await pgBouncer.kill();
      await pgBouncer.startAgain();
      const replica = await start();
      expect(await replica.read('/plants/1')).toMatchObject({ error: 40401 });
      for (const id of [1, 2]) await replica.create(id);
      expect(await replica.read('/changes')).toMatchObject([{ id: 1 }, { id: 2 }]);
      const count = (table: string) => postgres.query(`SELECT count(*)::int FROM ${table}`);
      expect(await count('public.plants')).toEqual([{ count: 1 }]);
      expect(await count('public.plant_changes')).toEqual([{ count: 1 }]);
      expect(await count('own.plants')).toEqual([{ count: 2 }]);
    },
  );

  itBehindPgBouncer(
    'replicas with a schema each share its sessions, and see their own tables',
    async ({ postgres, pgBouncer, workspace, start }) => {
      const own = { DATABASE_SCHEMA: 'own' };
      const other = await start();
      await other.create(1);
      // Indexes are not built in transactions, which alone have the search path.
      const pooled = { AUTH_TOKEN: TOKEN, DATABASE_URL: pgBouncer.url, ...own };
      const migrating = workspace.start(pooled);
      expect(await migrating.exit(20_000)).toEqual({ code: 1, signal: null });
      expect(migrating.stderr).toContain('needs the search_path own: set it with ALTER ROLE');
      // Goes on after those with a transaction.
      await (await start({ DATABASE_URL: postgres.url, ...own })).terminate();
      const replica = await start(own);
      expect(await replica.read('/plants/1')).toMatchObject({ error: 40401 });
      for (const id of [1, 2]) {
        await replica.create(id);
        expect(await other.read('/changes')).toMatchObject([{ id: 1 }]);
      }
      expect(await replica.read('/changes')).toMatchObject([{ id: 1 }, { id: 2 }]);
      const token = await issue(postgres.url, 'create', '--name', 'test');
      expect(await call(replica.url, token)).toBe('401 40101');
    },
  );

  it('they go on while two new replicas migrate the database', async ({
    postgres,
    replicas,
    crowd,
    start,
  }) => {
    await postgres.query(
      `DROP INDEX plants_tag_idx, plants_name_search_idx;
       DELETE FROM plant_store_migrations WHERE name ~ '^Index'`,
    );
    const more = await Promise.all([start(), start()]);
    await crowd.served(300);
    await expectReckoning(crowd, postgres, ...replicas, ...more);
    expect(crowd.attempts.filter((attempt) => !isServed(attempt))).toEqual([]);
    expect(
      await postgres.query(
        "SELECT count(*)::int AS valid FROM pg_index WHERE indrelid = 'plants'::regclass AND indisvalid",
      ),
    ).toEqual([{ valid: 4 }]);
  });

  it('they recover after kill -9 of PgBouncer', async ({
    postgres,
    pgBouncer,
    replicas,
    crowd,
  }) => {
    await pgBouncer.kill();
    await crowd.outcomes(isRefusedFor503, 1);
    await expectQuickRefusals(crowd);
    await pgBouncer.startAgain();
    await expectRecovery(crowd);
    await expectReckoning(crowd, postgres, ...replicas);
  });

  it('they recover after kill -9 of PostgreSQL', async ({ postgres, replicas, crowd }) => {
    process.kill(postgres.pid, 'SIGKILL');
    await crowd.outcomes(isRefusedFor503, 1);
    await postgres.startAgain();
    await expectRecovery(crowd);
    await expectReckoning(crowd, postgres, ...replicas);
  });
});

it('in statement mode of PgBouncer, the start fails, because no plant could be created', async ({
  workspace,
  postgres,
}) => {
  const other = await PgBouncer.start(workspace.folder, postgres.url, 'statement');
  const service = workspace.start({ AUTH_TOKEN: TOKEN, DATABASE_URL: other.url });
  expect(await service.exit(20_000)).toEqual({ code: 1, signal: null });
  expect(service.stderr).toMatch(
    /^plant-store: DATABASE_URL: cannot connect to \S+:\d+: .*transaction.*\n$/,
  );
  await other.kill();
});

it('a start waits while PgBouncer cannot log in to PostgreSQL', async ({
  workspace,
  postgres,
  pgBouncer,
}) => {
  process.kill(postgres.pid, 'SIGKILL');
  await vi.waitFor(async () => {
    // Whoever comes before the first login has failed waits for two minutes.
    const client = new Client({ connectionString: pgBouncer.url, query_timeout: 1_000 });
    client.on('error', () => {});
    try {
      const login = client.connect().then(() => client.query('SELECT 1'));
      await expect(login).rejects.toThrow('server_login_retry');
    } finally {
      await client.end();
    }
  }, PATIENCE);
  const service = workspace.start({ AUTH_TOKEN: TOKEN, DATABASE_URL: pgBouncer.url });
  await service.printed(/waiting up to 30 s for the database/);
  await postgres.startAgain();
  await service.listening();
});

const itBeforeOtherSettings = itBehindPgBouncer.extend({ settings: Object.fromEntries(SETTINGS) });

itBeforeOtherSettings(
  'before a server with other settings, the migrations, the values and the tokens are the same',
  async ({ postgres, pgBouncer, replica }) => {
    for (const { url } of [postgres, pgBouncer]) expect(await valuesAt(url)).toEqual(EXPECTED);
    const token = await issue(pgBouncer.url, 'create', '--name', 'test');
    expect(await call(replica.url, token)).toBe('200');
    const revoked = await tokenCommand(pgBouncer.url, 'revoke', idOf(token));
    expect(revoked.stderr).toMatch(/ at 20.*Z\n$/);
    const isRefused = async () => expect(await call(replica.url, token)).toBe('401 40101');
    await vi.waitFor(isRefused, PATIENCE);
  },
);
