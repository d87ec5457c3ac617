import { setTimeout as sleep } from 'node:timers/promises';
import { beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { lockOf } from '../../packages/framework/src/database/advisory-locks.js';
import { connect } from '../support/own-postgres.js';
import { PATIENCE } from '../../packages/framework/test/support/patience.js';
import { startPooler } from '../support/pooler.js';
import { createTestDatabase } from '../../packages/framework/test/support/test-database.js';
import type { TestDatabase } from '../../packages/framework/test/support/test-database.js';
import { serviceForTest, startTestService } from '../support/test-service.js';
import type { TestService } from '../support/test-service.js';

/** As many characters as make the service clean. */
const ENOUGH = 'x'.repeat(80_000);

/** In which a statement that should not come would have come, in milliseconds. */
const A_WHILE = 300;

const SESSIONS = `SELECT pid, state, query_start::text AS "queryStart", query FROM pg_stat_activity
  WHERE application_name = 'plant-store cleaner' AND datname = current_database()`;

let database: TestDatabase;

beforeEach(async () => {
  database = await createTestDatabase();
  onTestFinished(() => database.drop());
  await database.query('CREATE EXTENSION pgstattuple');
});

const start = (url = database.url, environment = {}) =>
  serviceForTest({ database: { ...database, url }, environment });

/** Plants whose names are not in the index yet. */
async function pending(): Promise<number> {
  const [row] = await database.query(
    "SELECT pending_tuples AS plants FROM pgstatginindex('plants_name_search_idx')",
  );
  return Number(row?.['plants']);
}

async function expectCleaned(): Promise<void> {
  await vi.waitFor(async () => {
    expect(await pending()).toBe(0);
    // The statement that has emptied the list has ended.
    for (const { state } of await database.query(SESSIONS)) expect(state).toBe('idle');
  }, PATIENCE);
}

function reports({ log }: TestService) {
  return log.filter(({ msg }) => String(msg).includes('the index of searches'));
}

describe('the index of searches by name', () => {
  it('gets the names of creates and changes, by a session that no request uses', async () => {
    const service = await start();
    expect((await service.post({ id: 1, name: ENOUGH })).status).toBe(200);
    await expectCleaned();
    const put = { headers: { 'Content-Type': 'application/json' }, body: `{"name":"a${ENOUGH}"}` };
    expect((await service.request('PUT', '/plants/1', put)).status).toBe(200);
    await expectCleaned();
    expect(await database.query(SESSIONS)).toMatchObject([{ state: 'idle' }]);
    expect(reports(service)).toEqual([]);
  });

  it('gets them through a pooler', async () => {
    const pooler = await startPooler(database.url);
    onTestFinished(() => pooler.stop());
    const service = await start(pooler.url);
    await service.post({ id: 1, name: ENOUGH });
    await expectCleaned();
    expect(reports(service)).toEqual([]);
  });

  it('is left alone while few names are stored, or none', async () => {
    const service = await start();
    for (const id of [1, 2, 3]) await service.post({ id, name: 'Monstera' });
    await sleep(A_WHILE);
    expect(await database.query(SESSIONS)).toEqual([]);
    expect(await pending()).toBe(3);

    await service.post({ id: 4, name: ENOUGH });
    await expectCleaned();
    const [session] = await database.query(SESSIONS);
    await service.post({ id: 4, name: ENOUGH });
    await service.request('GET', '/plants?name=mons');
    await sleep(A_WHILE);
    expect(await database.query(SESSIONS)).toEqual([session]);
  });

  it('is cleaned by one replica at a time', async () => {
    const service = await start();
    const other = await connect(database.url);
    await other.query(`BEGIN; SELECT pg_advisory_xact_lock(${lockOf('plants_name_search_idx')})`);
    await service.post({ id: 1, name: ENOUGH });
    const idle = { state: 'idle', query: expect.stringContaining('gin_clean_pending_list') };
    await vi.waitFor(
      async () => expect(await database.query(SESSIONS)).toMatchObject([idle]),
      PATIENCE,
    );
    expect(await pending()).toBe(1);
    await other.query('COMMIT');
    await other.end();
    await service.post({ id: 2, name: ENOUGH });
    await expectCleaned();
  });

  it('finds each plant at once, while other plants are moved into it', async () => {
    const [one, other] = [await start(), await start()];
    const client = async (first: number) => {
      for (let id = first; id < 400; id += 8) {
        const [writer, reader] = id % 3 === 0 ? [one, other] : [other, one];
        const name = `Plant <${id}> ${'x'.repeat(1_000)}`;
        expect((await writer.post({ id, name })).status).toBe(200);
        const found = await reader.request('GET', `/plants?name=${encodeURIComponent(`<${id}>`)}`);
        expect(found.json).toMatchObject([{ id }]);
      }
    };
    await Promise.all([1, 2, 3, 4, 5, 6, 7, 8].map(client));
    expect(await pending()).toBeLessThan(200);
    expect([one, other].flatMap(reports)).toEqual([]);
  });

  it('is left to creates by a role that may not clean it, with one line in the log', async () => {
    await (await startTestService({ database })).stop();
    const role = `guest_${database.url.slice(-12)}`;
    await database.query(
      `CREATE ROLE ${role} LOGIN PASSWORD 'guest';
       GRANT SELECT, INSERT, UPDATE, DELETE ON plants TO ${role};
       GRANT SELECT ON plant_store_migrations TO ${role}`,
    );
    onTestFinished(async () => {
      await database.query(`DROP OWNED BY ${role}; DROP ROLE ${role}`);
    });
    const url = new URL(database.url);
    [url.username, url.password] = [role, 'guest'];
    // The role may not record changes either.
    const service = await start(url.href, { CHANGES_ENABLED: 'false' });
    for (const id of [1, 2]) {
      expect((await service.post({ id, name: ENOUGH })).status).toBe(200);
      await vi.waitFor(async () => {
        expect(reports(service)).toMatchObject([{ level: 30, mayClean: false }]);
        expect(await database.query(SESSIONS)).toEqual([]);
      }, PATIENCE);
    }
    await sleep(A_WHILE);
    expect(await database.query(SESSIONS)).toEqual([]);
    expect(reports(service)).toHaveLength(1);
  });

  it('is reported once if it cannot be cleaned, and requests are served', async () => {
    const service = await start();
    await service.post({ id: 1, name: ENOUGH });
    await expectCleaned();
    await database.query('ALTER INDEX plants_name_search_idx RENAME TO another_idx');
    for (const id of [2, 3]) {
      expect((await service.post({ id, name: ENOUGH })).status).toBe(200);
      await vi.waitFor(() => expect(reports(service)).toMatchObject([{ level: 40 }]), PATIENCE);
    }
    await sleep(A_WHILE);
    expect(reports(service)).toHaveLength(1);
    expect((await fetch(`${service.managementUrl}/health/ready`)).status).toBe(200);
  });

  it('is cleaned again after the session was ended', async () => {
    const service = await start();
    await service.post({ id: 1, name: ENOUGH });
    await expectCleaned();
    await database.query(`SELECT pg_terminate_backend(pid) FROM (${SESSIONS}) AS sessions`);
    await vi.waitFor(async () => expect(await database.query(SESSIONS)).toEqual([]), PATIENCE);
    await service.post({ id: 2, name: ENOUGH });
    await expectCleaned();
    expect(reports(service)).toEqual([]);
  });

  it('is left when the service stops', async () => {
    const service = await startTestService({ database });
    await service.post({ id: 1, name: ENOUGH });
    await service.stop();
    await vi.waitFor(async () => expect(await database.query(SESSIONS)).toEqual([]), PATIENCE);
  });
});
