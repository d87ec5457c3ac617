import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { pino } from 'pino';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { connect } from '../../packages/framework/src/database/connect.js';
import {
  applyMigrations,
  revertMigration,
} from '../../packages/framework/src/database/migrations/migrate.js';
import { Crowd, TOKEN } from '../support/crowd.js';
import { createDataSource } from '../support/data-source.js';
import { PgBouncer } from '../support/pgbouncer.js';
import { Workspace } from '../support/process.js';
import { isRefusedFor503, tally } from '../support/reckoning.js';
import { Replica } from '../support/replica.js';
import { given } from '../../packages/framework/test/support/test-database.js';
import { startTestService } from '../support/test-service.js';
import type { TestService } from '../support/test-service.js';
import { expectRecovery, expectReckoning } from '../support/verdicts.js';
import { CitusCluster } from './cluster.js';
import type { Server } from './cluster.js';

const log = pino({ level: 'silent' });
const { signal } = new AbortController();

let cluster: CitusCluster;
let coordinator: Server;
let workspace: Workspace;

beforeAll(async () => {
  cluster = await CitusCluster.start();
  ({ coordinator } = cluster);
});

afterAll(() => cluster.stop());

beforeEach(async () => {
  await coordinator.query(`DO $$ BEGIN EXECUTE (
    SELECT coalesce('DROP TABLE ' || string_agg(format('%I', tablename), ', '), 'SELECT')
    FROM pg_tables WHERE schemaname = 'public'
  ); END $$`);
  workspace = await Workspace.create();
});

afterEach(() => workspace.remove());

/** The service in this process, on the coordinator. */
function serve(
  databaseUrl = coordinator.url,
  environment: Record<string, string> = {},
): Promise<TestService> {
  const query = (sql: string) => coordinator.query(sql);
  return startTestService({ database: { ...given(databaseUrl), query }, environment });
}

function startReplica({ url }: Server): Promise<Replica> {
  return Replica.start(workspace, { DATABASE_URL: url });
}

/** The kind of each table: `h`, distributed by hash, or `n`, with a copy on each node. */
async function distributedTables(): Promise<Record<string, unknown>> {
  const rows = await coordinator.query(
    'SELECT logicalrelid::text AS name, partmethod AS kind FROM pg_dist_partition',
  );
  return Object.fromEntries(rows.map(({ name, kind }) => [name, kind]));
}

const DISTRIBUTED = { plants: 'h', plant_store_migrations: 'n' };

const numbers = (from: number, count: number) => Array.from({ length: count }, (_, i) => from + i);

describe('migrations', () => {
  it('distribute the tables once when many instances start at once', async () => {
    const services = await Promise.all([1, 2, 3, 4].map(() => serve()));
    const applied = services.flatMap((service) =>
      service.log.filter(({ applied: names }) => (names as string[] | undefined)?.length),
    );
    expect(applied).toHaveLength(1);
    expect(await distributedTables()).toEqual(DISTRIBUTED);
    await Promise.all(services.map((service) => service.stop()));
  });

  it('distribute a table that has plants, and can be taken back', async () => {
    const dataSource = createDataSource(coordinator.url);
    await connect(dataSource, { log, signal });
    await applyMigrations(dataSource, { log, signal });
    await coordinator.query(
      "INSERT INTO plants SELECT n, 'Plant ' || n, NULL FROM generate_series(1, 1000) AS n",
    );
    const stored = await coordinator.query('SELECT * FROM plants ORDER BY id');
    const revertAllButFirst = async (...how: Parameters<typeof revertMigration>) => {
      for (const _ of dataSource.migrations.slice(1)) await revertMigration(...how);
    };
    for (const migrate of [revertAllButFirst, applyMigrations]) {
      await migrate(dataSource, { log, signal });
      expect(await distributedTables()).toEqual(migrate === applyMigrations ? DISTRIBUTED : {});
      expect(await coordinator.query('SELECT * FROM plants ORDER BY id')).toEqual(stored);
    }
    for (const _ of dataSource.migrations) await revertMigration(dataSource, { log, signal });
    expect(await distributedTables()).toEqual({});
    await dataSource.destroy();
  });

  it('accept tables that an operator has distributed', async () => {
    const dataSource = createDataSource(coordinator.url);
    await connect(dataSource, { log, signal });
    await applyMigrations(dataSource, { log, signal });
    for (const _ of dataSource.migrations.slice(1))
      await revertMigration(dataSource, { log, signal });
    await coordinator.query("SELECT create_distributed_table('plants', 'id')");
    await applyMigrations(dataSource, { log, signal });
    expect(await distributedTables()).toEqual(DISTRIBUTED);
    await dataSource.destroy();
  });
});

describe('operations', () => {
  it.each(['directly', 'by way of PgBouncer'])('answer as on one server, %s', async (way) => {
    const pgBouncer =
      way === 'directly' ? undefined : await PgBouncer.start(workspace.folder, coordinator.url);
    const service = await serve(pgBouncer?.url);
    const get = (id: unknown) => service.request('GET', `/plants/${String(id)}`);
    const post = async (body: string) => {
      const { status, text } = await service.post(body);
      return [status, text];
    };
    try {
      for (const id of ['1', '-9223372036854775808', '9223372036854775807']) {
        const plant = `{"id":${id},"name":"Nº \\u0001 \\"é\\"","tag":""}`;
        const answer = [200, '{"name":"Nº \\u0001 \\"é\\"","tag":""}'];
        expect(await post(plant)).toEqual(answer);
        expect(await post(plant)).toEqual(answer);
        expect((await service.post(`{"id":${id},"name":"other"}`)).json['error']).toBe(40009);
        expect((await get(id)).text).toContain(`"id":${id},`);
      }
      expect((await get(2)).json['error']).toBe(40401);

      // In groups, without a tag, on all shards.
      const ids = numbers(1_000, 500);
      const create = () => Promise.all(ids.map((id) => service.post({ id, name: `Plant ${id}` })));
      for (const answers of [await create(), await create()]) {
        expect(answers.map(({ text }) => text)).toEqual(ids.map((id) => `{"name":"Plant ${id}"}`));
      }
      const found = await Promise.all(ids.map(get));
      expect(found.map(({ json }) => json)).toEqual(ids.map((id) => ({ id, name: `Plant ${id}` })));

      // A group has several plants with the same id and different names. The first of them is seldom the stored one.
      const rivals = numbers(0, 300).map((n) => ({ id: 2_000 + (n % 5), name: `Rival ${n}` }));
      for (const _ of [1, 2]) {
        const answers = await Promise.all(rivals.map((rival) => service.post(rival)));
        const winners = answers.filter(({ status }) => status === 200);
        expect(winners).toHaveLength(5);
        for (const { status, json } of answers) {
          if (status !== 200) expect([status, json['error']]).toEqual([400, 40009]);
        }
      }

      // Imports and exports.
      const imports = (body: string) =>
        service.request('POST', '/plants/import', {
          headers: { 'Content-Type': 'application/x-ndjson' },
          body,
        });
      const exported = await service.request('GET', '/plants/export');
      expect(exported.text.split('\n')).toHaveLength(3 + 500 + 5 + 2);
      const lines = `${exported.text}{"id":3000,"name":"new"}\n`;
      expect((await imports(lines)).json).toEqual({ created: 1, unchanged: 508, refused: 0 });
      expect((await imports(lines)).json).toEqual({ created: 0, unchanged: 509, refused: 0 });

      // Lists, searches and changes.
      const page = await service.request('GET', '/plants?after=999&limit=500&name=PLANT%201');
      expect(page.text).toBe(JSON.stringify(ids.map((id) => ({ id, name: `Plant ${id}` }))));
      const headers = { 'Content-Type': 'application/json', 'If-Match': '*' };
      const patched = await service.request('PATCH', '/plants/1000', {
        headers,
        body: '{"tag":"x"}',
      });
      expect(patched.json).toEqual({ id: 1000, name: 'Plant 1000', tag: 'x' });
      expect((await service.request('GET', '/plants?tag=x')).text).toBe(`[${patched.text}]`);
      const replaced = await service.request('PUT', '/plants/1000', {
        headers,
        body: '{"name":"y"}',
      });
      expect(replaced.json).toEqual({ id: 1000, name: 'y' });
      expect((await service.request('DELETE', '/plants/1000', { headers })).status).toBe(204);
      expect((await get(1000)).status).toBe(404);
    } finally {
      await service.stop();
      await pgBouncer?.kill();
    }
  });

  it('have one winner for each id that clients of two replicas create at once', async () => {
    const replicas = await Promise.all([1, 2].map(() => startReplica(coordinator)));
    const crowd = new Crowd({ urls: replicas.map(({ url }) => url), clients: 32, rivalry: 2n });
    await crowd.served(10_000, 60_000);
    await expectReckoning(crowd, coordinator, ...replicas);
    expect(Object.keys(tally(crowd.attempts)).toSorted()).toEqual(['200', '40003', '40009']);
  });
});

describe('changes', () => {
  it('are not recorded, and the start says so', async () => {
    const service = await serve();
    expect((await service.post({ id: 1, name: 'Monstera' })).status).toBe(200);
    expect((await service.request('GET', '/changes')).status).toBe(404);
    expect(await coordinator.query('SELECT FROM plant_changes')).toEqual([]);
    expect(service.log).toContainEqual(
      expect.objectContaining({
        level: 40,
        msg: 'changes of plants are not recorded',
        reason: expect.stringContaining('distributed with Citus') as string,
      }),
    );
    await service.stop();
  });

  it('that must be recorded keep the service from starting', async () => {
    await expect(serve(coordinator.url, { CHANGES_ENABLED: 'true' })).rejects.toThrow(
      'CHANGES_ENABLED must not be true: the database is distributed with Citus',
    );
  });
});

describe('a machine that is lost under load', () => {
  it.each([
    ['a worker', () => cluster.workers[0]!],
    ['the coordinator', () => coordinator],
  ])('loses no acknowledged plant: %s, three times', async (_, serverOf) => {
    const server = serverOf();
    const replica = await startReplica(coordinator);
    const crowd = new Crowd({ urls: [replica.url], clients: 32 });
    await crowd.served(300);
    for (let round = 1; round <= 3; round += 1) {
      await server.kill();
      await crowd.outcomes(isRefusedFor503, 1);
      await server.startAgain();
      await expectRecovery(crowd);
    }
    await expectReckoning(crowd, coordinator, replica);
  });
});

describe('five million plants', () => {
  it('can be compared with replays in a bounded time', async () => {
    const service = await serve();
    await coordinator.query(
      "INSERT INTO plants SELECT n, 'Plant ' || n, NULL FROM generate_series(1, 5000000) AS n",
    );
    // For most ids, the first plant of a group differs from the stored one, and another one equals it.
    const plants = numbers(0, 1_000).map((n) => {
      const id = 1 + Math.floor(n / 4) * 7_919;
      return { id, name: n % 4 === 3 ? `Plant ${id}` : `Other ${n}` };
    });
    const durations: number[] = [];
    for (let round = 1; round <= 5; round += 1) {
      const start = performance.now();
      const answers = await Promise.all(plants.map((plant) => service.post(plant)));
      durations.push(performance.now() - start);
      expect(answers.map(({ status }) => status)).toEqual(
        plants.map(({ name }) => (name.startsWith('Plant') ? 200 : 400)),
      );
    }
    console.log(`1000 replays and conflicts: ${durations.map(Math.round).join(', ')} ms`);
    await service.stop();
  });
});

describe('throughput', () => {
  const ROUNDS = 7;
  const SECONDS = 3;

  it(
    'is at least 0.45 of a single server on the same processors',
    { timeout: 300_000 },
    async () => {
      const entrants = [];
      for (const [name, server] of [
        ['single server', cluster.single],
        ['Citus', coordinator],
      ] as const) {
        entrants.push({ name, server, replica: await startReplica(server) });
      }
      const lines = ['connections  single server  Citus  ratio  (creates/s, medians)'];
      const ratios: number[] = [];
      let first = 0;
      for (const connections of [64, 256]) {
        const rates: number[][] = [];
        for (let round = 0; round <= ROUNDS; round += 1) {
          const rate: number[] = [];
          for (const { server, replica } of entrants) {
            await server.query('TRUNCATE plants');
            await server.query('CHECKPOINT');
            rate.push(await creates(replica, connections, first));
            first += 100_000;
          }
          // The first round warms up.
          if (round > 0) rates.push(rate);
        }
        const [single, citus] = [0, 1].map((i) => median(rates.map((rate) => rate[i]!)));
        const ratio = median(rates.map(([one, other]) => other! / one!));
        ratios.push(ratio);
        lines.push(
          [connections, single!.toFixed(0), citus!.toFixed(0), ratio.toFixed(2)].join('  '),
        );
      }
      console.log(lines.join('\n'));
      expect(Math.min(...ratios)).toBeGreaterThanOrEqual(0.45);
    },
  );

  async function creates(replica: Replica, connections: number, first: number): Promise<number> {
    const { stdout } = await promisify(execFile)('wrk', [
      '--threads=1',
      `--connections=${connections}`,
      `--duration=${SECONDS}s`,
      '--timeout=10s',
      '--script=bench/plants.lua',
      replica.url,
      '--',
      'create',
      String(first),
      TOKEN,
    ]);
    const result = JSON.parse(/^RESULT (.*)$/m.exec(stdout)?.[1] ?? '') as Record<string, number>;
    expect([result['refused'], result['broken']]).toEqual([0, 0]);
    return result['answers']! / result['seconds']!;
  }

  function median(values: readonly number[]): number {
    return values.toSorted((one, other) => one - other)[values.length >> 1]!;
  }
});
