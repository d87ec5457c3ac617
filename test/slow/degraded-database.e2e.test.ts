import { Client } from 'pg';
import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, inject, it, vi } from 'vitest';
import { expectCleanEnd, read } from '../support/local-instance.js';
import { PATIENCE } from '../../packages/framework/test/support/patience.js';
import { Workspace } from '../support/process.js';
import { dropRole, migrate, newRole, PASSWORD, quoted, urlAs } from '../support/roles.js';
import { SCHEMA } from '../support/data-source.js';
import { createMigratedDatabase, databaseForTest } from '../support/migrated-database.js';
import type { TestDatabase } from '../../packages/framework/test/support/test-database.js';
import { ONLY_REQUESTS, serviceForTest, startTestService, TOKEN } from '../support/test-service.js';
import type { TestService } from '../support/test-service.js';
import { expectUnavailable } from '../support/unavailable.js';

let database: TestDatabase;

/** Runs a statement as an operator, on another database, because `OURS` may refuse it. */
async function asOperator(statement: string): Promise<void> {
  const operator = new Client({ connectionString: inject('postgresUrl') });
  await operator.connect();
  try {
    await operator.query(statement.replaceAll('OURS', new URL(database.url).pathname.slice(1)));
  } finally {
    await operator.end();
  }
}

/** As providers do before a disk is full. */
const MAKE_READ_ONLY = 'ALTER DATABASE OURS SET default_transaction_read_only = on';
const MAKE_WRITABLE = 'ALTER DATABASE OURS RESET default_transaction_read_only';

describe('a start on a database that is read-only', () => {
  beforeEach(async () => {
    database = await databaseForTest();
    const before = await startTestService({ database });
    expect((await before.post({ id: 1, name: 'Monstera' })).status).toBe(200);
    await before.stop();
    await asOperator(MAKE_READ_ONLY);
  });

  it.each([{}, { CHANGES_ENABLED: 'true' }, { CHANGES_ENABLED: 'false' }])(
    'serves reads, refuses changes with 503, and accepts them as soon as it is not: %o',
    async (environment) => {
      const service = await serviceForTest({ database, environment });
      const send = (method: string, path: string, body?: object) =>
        service.request(method, path, {
          headers: { 'Content-Type': 'application/json' },
          ...(body !== undefined && { body: JSON.stringify(body) }),
        });
      expect((await fetch(`${service.managementUrl}/health/ready`)).status).toBe(200);
      expect((await send('GET', '/plants/1')).json).toMatchObject({ name: 'Monstera' });
      expect((await send('GET', '/plants?limit=2')).status).toBe(200);
      const recorded = environment.CHANGES_ENABLED !== 'false';
      expect((await send('GET', '/changes')).status).toBe(recorded ? 200 : 404);
      for (const [method, path, body] of [
        ['POST', '/plants', { id: 2, name: 'Ficus' }],
        ['PUT', '/plants/1', { name: 'Ficus' }],
        ['PATCH', '/plants/1', { name: 'Ficus' }],
        ['DELETE', '/plants/1'],
      ] as const) {
        const answer = await send(method, path, body);
        expect(answer.json).toEqual({ error: 50300, message: expect.any(String) });
        expect(answer.headers.get('retry-after')).toMatch(/^\d+$/);
      }
      await asOperator(MAKE_WRITABLE);
      await vi.waitFor(
        async () =>
          expect((await send('POST', '/plants', { id: 2, name: 'Ficus' })).status).toBe(200),
        PATIENCE,
      );
      if (recorded) {
        expect((await send('GET', '/changes')).json).toMatchObject([{ id: 1 }, { id: 2 }]);
      }
    },
  );

  it('lets the program serve reads, and end without a complaint', async () => {
    const workspace = await Workspace.create();
    const program = workspace.start({ AUTH_TOKEN: TOKEN, DATABASE_URL: database.url });
    const { url } = await program.listening();
    expect(await read(url, TOKEN, '1')).toContain('"Monstera"');
    await expectCleanEnd(program, workspace);
    await workspace.remove();
  });
});

describe('a database that is read-only', () => {
  beforeEach(async () => {
    database = await databaseForTest();
  });

  it('keeps the privileges of DATABASE_SERVICE_ROLE, and needs no migration', async () => {
    const role = newRole();
    const access = { role: { name: role, password: PASSWORD }, schema: SCHEMA };
    await migrate(database, access);
    await asOperator(MAKE_READ_ONLY);
    const log: string[] = [];
    await migrate(database, access, pino({}, { write: (line) => void log.push(line) }));
    expect(log.join('')).toContain('DATABASE_SERVICE_ROLE keeps the privileges');
    await asOperator(MAKE_WRITABLE);
    await dropRole(role, database);
  });

  it('ends a start with one line if a migration is pending', async () => {
    await database.query('DELETE FROM plant_store_migrations WHERE id = 1');
    await asOperator(MAKE_READ_ONLY);
    await expect(startTestService({ database })).rejects.toThrow(
      /^DATABASE_URL: \S+: the migrations failed: .*read-only transaction$/,
    );
  });

  it('is logged once, whatever is refused and whatever goes on', async () => {
    const service = await serviceForTest({ database, environment: ONLY_REQUESTS });
    expect((await service.post({ id: 1, name: 'Monstera' })).status).toBe(200);
    await asOperator(MAKE_READ_ONLY);
    // Waits until the sessions have ended: a statement that arrives before fails for the end of its session, and not because it writes.
    await asOperator(
      "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = 'OURS'",
    );
    const answers = new Map<number, number>();
    // Longer than the log waits for the end of refusals.
    const deadline = performance.now() + 8_000;
    while (performance.now() < deadline) {
      for (const send of [
        () => service.request('GET', '/plants/1'),
        () => service.post({ id: 1, name: 'Monstera' }),
        () => service.request('DELETE', '/plants/1'),
      ]) {
        const answer = await send();
        if (answer.status === 503) expectUnavailable(answer);
        answers.set(answer.status, 1 + (answers.get(answer.status) ?? 0));
      }
    }
    const reports = service.log.filter(({ level }) => Number(level) > 30);
    expect(reports.filter(({ msg }) => String(msg).includes('rejects'))).toEqual([
      expect.objectContaining({ msg: 'the database rejects writes' }),
    ]);
    expect(answers.get(503)).toBeGreaterThan(0);
    // Reads go on.
    expect((await service.request('GET', '/plants/1')).status).toBe(200);
    await asOperator(MAKE_WRITABLE);
    await vi.waitFor(
      async () => expect((await service.post({ id: 2, name: 'Ficus' })).status).toBe(200),
      { timeout: 2_000 },
    );
    // With the next write after the wait.
    await vi.waitFor(async () => {
      await service.post({ id: 2, name: 'Ficus' });
      expect(service.log.map(({ msg }) => msg)).toContain('the database accepts writes again');
    }, PATIENCE);
  });
});

describe('a server that allows fewer connections than the pool may have', () => {
  let role: string;

  beforeEach(async () => {
    database = await createMigratedDatabase();
    role = newRole();
    await migrate(database, { role: { name: role, password: PASSWORD }, schema: SCHEMA });
  });

  afterEach(async () => {
    await dropRole(role, database);
    await database.drop();
  });

  const limit = (connections: number) =>
    database.query(`ALTER ROLE ${quoted(role)} CONNECTION LIMIT ${connections}`);

  const startReplicas = (count: number) =>
    Promise.all(
      Array.from({ length: count }, () =>
        startTestService({ database: { ...database, url: urlAs(role, database) } }),
      ),
    );

  /** Clients that read and change plants, one request after the other; returns how often each status was answered. */
  async function load(services: readonly TestService[], requests: number) {
    const answers = new Map<string, number>();
    let left = requests;
    const client = async (n: number): Promise<void> => {
      for (; left > 0; left -= 1) {
        const id = left;
        const service = services[n % services.length]!;
        const send = [
          () => service.post({ id, name: `plant ${id}` }),
          () => service.request('GET', `/plants/${id + 50}`),
          () => service.request('GET', '/plants?limit=50'),
          () => service.request('GET', '/changes'),
          () => service.request('GET', '/plants?tag=indoor'),
          () => service.request('DELETE', `/plants/${id + 100}`),
        ][left % 6]!;
        const { status, json } = await send();
        const outcome = status < 500 ? 'served' : String(json['error']);
        answers.set(outcome, 1 + (answers.get(outcome) ?? 0));
      }
    };
    await Promise.all(Array.from({ length: 16 }, (_, n) => client(n)));
    return Object.fromEntries(answers);
  }

  /** What needs the locked table waits, so that the services want more connections than they may have. */
  async function loadBesideLock(services: readonly TestService[]): Promise<void> {
    const lock = new Client({ connectionString: database.url });
    await lock.connect();
    await lock.query('BEGIN; LOCK TABLE plants');
    await load(services, 32);
    await lock.end();
  }

  const messages = ({ log }: TestService) => log.map(({ msg }) => msg);

  it.each([
    [3, 1],
    [8, 2],
  ])('serves with %i connections what %i replicas are asked for', async (most, count) => {
    await limit(most);
    const services = await startReplicas(count);
    try {
      expect(await load(services, 600)).toEqual({ served: expect.any(Number) });
      await loadBesideLock(services);
      expect(services.flatMap(messages)).toContain('the database rejects new connections');
      // The log names no role.
      expect(JSON.stringify(services.map(({ log }) => log))).not.toContain(role.slice(-8));
    } finally {
      await Promise.all(services.map((service) => service.stop()));
    }
  });

  it('gets more connections when there is room again', async () => {
    await limit(2);
    const [service] = await startReplicas(1);
    try {
      await loadBesideLock([service!]);
      expect(messages(service!)).toContain('the database rejects new connections');
      await limit(-1);
      await vi.waitFor(async () => {
        await loadBesideLock([service!]);
        expect(messages(service!)).toContain('the database accepts new connections again');
      }, PATIENCE);
    } finally {
      await service!.stop();
    }
  });

  it('has no outage when there is no room for a probe, because a statement is slow', async () => {
    await limit(1);
    const [service] = await startReplicas(1);
    const lock = new Client({ connectionString: database.url });
    try {
      await lock.connect();
      await lock.query('BEGIN; LOCK TABLE plants');
      await database.query(`ALTER ROLE ${quoted(role)} SET lock_timeout = '10s'`);
      // The timeouts of the role apply to new sessions.
      await database.query(
        `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = $1`,
        [role],
      );
      await vi.waitFor(
        async () => expectUnavailable(await service!.request('GET', '/plants/1'), 50305),
        PATIENCE,
      );
      expect(messages(service!)).not.toContain('the database is unavailable');
    } finally {
      await lock.end();
      await service!.stop();
    }
  });
});
