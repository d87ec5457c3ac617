import { once } from 'node:events';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { Client } from 'pg';
import {
  afterAll,
  afterEach,
  beforeAll,
  beforeEach,
  describe,
  expect,
  inject,
  it,
  vi,
} from 'vitest';
import { DATABASE_LIMITS } from '../../packages/framework/src/database/limits.js';
import { isOutage } from '../../packages/framework/src/database/database-error.js';
import { dataSourceOf } from '../../packages/framework/src/database/data-source.js';
import { createDataSource } from '../support/data-source.js';
import { FaultyLink } from '../support/faulty-link.js';
import { OwnPostgres } from '../support/own-postgres.js';
import { PATIENCE, processTimeOf } from '../../packages/framework/test/support/patience.js';
import { createTestDatabase, given } from '../../packages/framework/test/support/test-database.js';
import type { TestDatabase } from '../../packages/framework/test/support/test-database.js';
import { createMigratedDatabase } from '../support/migrated-database.js';
import { ONLY_REQUESTS, startTestService } from '../support/test-service.js';
import type { Answer, TestService } from '../support/test-service.js';
import { areUsed, expectUnavailable } from '../support/unavailable.js';

let service: TestService;

/** Waits until a create is answered with a status. */
async function isAnswered(status: number, id: number, options: object = { timeout: PATIENCE }) {
  await vi.waitFor(
    async () => expect((await service.post({ id, name: 'before' })).status).toBe(status),
    options,
  );
}

const reports = () => service.log.filter(({ level }) => Number(level) > 30);
const messages = () => service.log.map(({ msg }) => msg);

describe('a database server that dies', () => {
  let server: OwnPostgres;

  beforeAll(async () => {
    server = await OwnPostgres.start();
    service = await startTestService({
      // As few connections as concurrent groups, so that a full pool must not hide the outage.
      environment: { DATABASE_POOL_MAX: '2', ...ONLY_REQUESTS },
      database: given(server.url),
    });
  });

  afterAll(async () => {
    await service.stop();
    await server.stop();
  });

  it('is answered with 503 at once, and with 200 again after its recovery', async () => {
    expect((await service.post({ id: 1, name: 'before' })).status).toBe(200);
    process.kill(server.pid, 'SIGKILL');
    await isAnswered(503, 1);
    const rejected = [
      service.post({ id: 2, name: 'during' }),
      service.request('GET', '/plants/1'),
    ] as const;
    expect(await processTimeOf(Promise.all(rejected))).toBeLessThan(2_000);
    for (const answer of rejected) expectUnavailable(await answer);
    // Otherwise all replicas would become unready at once.
    expect((await fetch(`${service.managementUrl}/health/ready`)).status).toBe(200);
    expect((await service.request('GET', '/nothing')).status).toBe(404);

    await server.startAgain();
    await vi.waitFor(
      async () => expect((await service.request('GET', '/plants/1')).status).toBe(200),
      PATIENCE,
    );
    expect((await service.post({ id: 2, name: 'after' })).status).toBe(200);
    expect((await service.request('GET', '/plants/1')).json['name']).toBe('before');
  });

  it('that hangs is answered with 503 within the timeout, and with 200 after it resumes', async () => {
    expect((await service.post({ id: 3, name: 'before' })).status).toBe(200);
    const stopped = [server.pid, ...(await server.backends())];
    for (const pid of stopped) process.kill(pid, 'SIGSTOP');
    try {
      const answered = async (): Promise<void> => {
        const answers: Promise<Answer>[] = [];
        for (const used of [1, 2, 2]) {
          answers.push(service.post({ id: 4 + answers.length, name: 'during' }));
          await areUsed(service, used);
        }
        for (const { status } of await Promise.all(answers)) expect(status).toBe(503);
      };
      expect(await processTimeOf(answered())).toBeLessThan(15_000);
    } finally {
      for (const pid of stopped) process.kill(pid, 'SIGCONT');
    }
    await isAnswered(200, 7);
  });

  it('that is known to hang is answered with 503 at once, and recovery is detected', async () => {
    // On both connections.
    await Promise.all(Array.from({ length: 20 }, (_, id) => service.post({ id, name: 'before' })));
    const stopped = [server.pid, ...(await server.backends())];
    const timed = async (id: number) => {
      const sent = service.post({ id, name: 'during' });
      const took = await processTimeOf(sent);
      return { answer: await sent, took };
    };
    for (const pid of stopped) process.kill(pid, 'SIGSTOP');
    try {
      const held: Promise<Answer>[] = [];
      for (const used of [1, 2]) {
        held.push(service.post({ id: 30 + used, name: 'during' }));
        await areUsed(service, used);
      }
      // Until a probe of the database times out, as well, the service knows only that the database is slow.
      const errors = expect.toBeOneOf([50300, 50305]) as unknown;
      for (const answer of await Promise.all(held)) expectUnavailable(answer, errors);
      await vi.waitFor(async () => expect((await timed(20)).took).toBeLessThan(100), {
        timeout: PATIENCE,
      });
      const known = reports();
      expect(known).toContainEqual(
        expect.objectContaining({
          level: 50,
          msg: 'the database is unavailable',
          reason: expect.any(String),
        }),
      );
      for (const id of [21, 22, 23, 24]) {
        const { answer, took } = await timed(id);
        expectUnavailable(answer);
        expect(took).toBeLessThan(1_000);
      }
      // Failures during a known outage are not logged.
      expect(reports()).toEqual(known);
    } finally {
      for (const pid of stopped) process.kill(pid, 'SIGCONT');
    }
    await vi.waitFor(async () => expect((await timed(25)).answer.status).toBe(200), {
      timeout: 2_000,
    });
    expect(messages()).toEqual(
      expect.arrayContaining(['the database is unavailable', 'the database is available again']),
    );
  });
});

describe('a database that no longer accepts the service', () => {
  beforeEach(async () => {
    service = await startTestService({ environment: ONLY_REQUESTS });
    expect((await service.post({ id: 1, name: 'before' })).status).toBe(200);
  });

  afterEach(() => service.stop());

  /** Runs a statement as an operator, on another database, because the service's database may refuse connections. */
  async function asOperator(statement: string): Promise<void> {
    const name = new URL(service.database.url).pathname.slice(1);
    const operator = new Client({ connectionString: inject('postgresUrl') });
    await operator.connect();
    await operator.query(statement.replaceAll('OURS', name));
    await operator.end();
  }

  function reasonsOfOutages({ log }: TestService): string {
    return log.map(({ reason }) => reason).join('\n');
  }

  const END_SESSIONS = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = 'OURS'`;

  it.each([
    [
      'ALTER DATABASE OURS ALLOW_CONNECTIONS false',
      'ALTER DATABASE OURS ALLOW_CONNECTIONS true',
      /not currently accepting connections/,
    ],
    [
      'ALTER DATABASE OURS RENAME TO OURS_away',
      'ALTER DATABASE OURS_away RENAME TO OURS',
      /does not exist/,
    ],
  ])('is unavailable when it refuses connections: %s', async (away, back, reason) => {
    await asOperator(END_SESSIONS);
    await asOperator(away);
    await vi.waitFor(async () => {
      expectUnavailable(await service.request('GET', '/plants/1'));
      expect(reasonsOfOutages(service)).toMatch(reason);
    }, PATIENCE);
    await asOperator(back);
    await vi.waitFor(
      async () => expect((await service.post({ id: 1, name: 'before' })).status).toBe(200),
      { timeout: 2_000 },
    );
    expect(service.log).toContainEqual(
      expect.objectContaining({ msg: 'the database is available again' }),
    );
  });

  it('is unavailable when the CONNECT privilege is revoked', async () => {
    const { database } = service;
    const url = new URL(database.url);
    url.username = 'guest_of_one_test';
    url.password = 'guest';
    await database.query(`CREATE ROLE guest_of_one_test LOGIN PASSWORD 'guest'`);
    for (const kind of ['TABLES', 'FUNCTIONS', 'SEQUENCES']) {
      await database.query(`GRANT ALL ON ALL ${kind} IN SCHEMA public TO guest_of_one_test`);
    }
    const guest = await startTestService({ database: { ...database, url: url.href } });
    try {
      expect((await guest.request('GET', '/plants/1')).status).toBe(200);
      await asOperator('REVOKE CONNECT ON DATABASE OURS FROM PUBLIC');
      await asOperator(END_SESSIONS);
      await vi.waitFor(async () => {
        expect((await guest.request('GET', '/plants/1')).status).not.toBe(200);
        expect(reasonsOfOutages(guest)).toMatch(/permission denied/);
      }, PATIENCE);
      expectUnavailable(await guest.request('GET', '/plants/1'));
      expect(guest.log.filter(({ error }) => error === 50000)).toEqual([]);
    } finally {
      await guest.stop();
      await database.query('DROP OWNED BY guest_of_one_test');
      await database.query('DROP ROLE guest_of_one_test');
    }
  });
});

describe('a proxy that holds the connections that it accepted during an outage', () => {
  let link: FaultyLink;

  beforeAll(async () => {
    const database = await createTestDatabase();
    link = await FaultyLink.to(database.url);
    service = await startTestService({
      environment: { DATABASE_POOL_MAX: '2', ...ONLY_REQUESTS },
      database: { ...database, url: link.url },
    });
  });

  afterAll(async () => {
    await service.stop();
    await link.close();
    await service.database.drop();
  });

  it('delays the service little longer than a new client', async () => {
    expect((await service.post({ id: 1, name: 'before' })).status).toBe(200);
    link.poison({ kind: 'timeout', milliseconds: undefined });
    const held = Array.from({ length: 10 }, (_, id) => service.request('GET', `/plants/${id}`));
    for (const answer of await Promise.all(held)) expect(answer.status).toBe(503);
    await vi.waitFor(() => expect(messages()).toContain('the database is unavailable'), PATIENCE);
    // Right after the first message of a probe, which gets no answer any more.
    const { harmed } = link;
    await vi.waitFor(() => expect(link.harmed).toBeGreaterThan(harmed), {
      timeout: PATIENCE,
      interval: 1,
    });
    link.cureNewConnections();

    const client = new Client({ connectionString: link.url });
    await client.connect();
    await client.end();
    const served = isAnswered(200, 1, { timeout: PATIENCE, interval: 10 });
    // The probe that hangs has a timeout of 2 s.
    expect(await processTimeOf(served)).toBeLessThan(1_500);
  });
});

describe('a connection that the server closes right after the handshake', () => {
  /** AuthenticationOk, ReadyForQuery and the end (PostgreSQL manual, chapter 54.7), in one segment. */
  const GREETING_AND_END = Buffer.concat([
    Buffer.from('R\0\0\0\x08\0\0\0\0', 'latin1'),
    Buffer.from('Z\0\0\0\x05I', 'latin1'),
    Buffer.from('E\0\0\0\x1aSFATAL\0C57P01\0Mended\0\0', 'latin1'),
  ]);

  it('is an outage, and does not end the process', async () => {
    const server = createServer((socket) => {
      socket.on('error', () => {});
      socket.once('data', () => socket.end(GREETING_AND_END));
    });
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const { port } = server.address() as AddressInfo;
    const dataSource = createDataSource(`postgres://a:b@127.0.0.1:${port}/c`);
    try {
      const failure: unknown = await dataSource.initialize().catch((error: unknown) => error);
      expect(isOutage(failure)).toBe(true);
    } finally {
      server.close();
    }
  });
});

describe('a statement without a reply', () => {
  it('fails at its timeout, and its connection serves nobody else', async () => {
    const database = await createTestDatabase();
    const { options } = createDataSource(database.url);
    const dataSource = dataSourceOf({
      ...options,
      extra: { ...options.extra, limits: { ...DATABASE_LIMITS, reply: 1_500 } },
    });
    await dataSource.initialize();
    try {
      const session = 'SELECT pg_backend_pid() AS pid';
      const before = await dataSource.query<unknown[]>(session);
      // Shorter than the timeout of the server.
      await expect(dataSource.query('SELECT pg_sleep(4)')).rejects.toThrow('no reply within');
      // The pool has only one connection.
      expect(await dataSource.query<unknown[]>(session)).not.toEqual(before);
    } finally {
      await dataSource.destroy();
      await database.drop();
    }
  });
});

describe('a start', () => {
  it('refuses a database whose encoding cannot hold every text', async () => {
    const database = await createTestDatabase(
      "ENCODING 'LATIN1' LOCALE 'C' LOCALE_PROVIDER libc TEMPLATE template0",
    );
    await expect(startTestService({ database })).rejects.toThrow(/must be UTF8, but is LATIN1/);
    await database.drop();
  });
});

describe('a database that refuses some rows', () => {
  const GUEST = 'guest_of_some_rows';
  let database: TestDatabase;

  beforeAll(async () => {
    database = await createMigratedDatabase();
    const url = Object.assign(new URL(database.url), { username: GUEST, password: 'guest' });
    await database.query(`CREATE ROLE ${GUEST} LOGIN PASSWORD 'guest'`);
    for (const kind of ['TABLES', 'FUNCTIONS', 'SEQUENCES']) {
      await database.query(`GRANT ALL ON ALL ${kind} IN SCHEMA public TO ${GUEST}`);
    }
    service = await startTestService({ database: { ...database, url: url.href } });
  });

  afterAll(async () => {
    await service.stop();
    await database.query(`DROP OWNED BY ${GUEST}`);
    await database.query(`DROP ROLE ${GUEST}`);
    await database.drop();
  });

  it('stores the others, and the log has a line when it begins and when it ends', async () => {
    // Like Citus when the server of some shards is away.
    await database.query('CREATE EXTENSION dblink');
    await database.query(
      `CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
         IF NEW.id % 2 = 1 THEN PERFORM dblink_connect('host=127.0.0.1 port=1 password=none'); END IF;
         RETURN NEW;
       END $$`,
    );
    await database.query(
      'CREATE TRIGGER refuse BEFORE INSERT ON plants FOR EACH ROW EXECUTE FUNCTION refuse()',
    );
    // The database refuses one plant of each pair. A group is halved for at most a second, so on a busy machine some clients
    // have to send again.
    let pairs = Array.from({ length: 100 }, (_, pair) => pair);
    const create = async (id: number) => {
      const begun = performance.now();
      const answer = await service.post({ id, name: 'a' });
      return { answer, took: performance.now() - begun };
    };
    for (let round = 1; pairs.length > 0; round += 1) {
      expect(round).toBeLessThan(50);
      const ids = pairs.flatMap((pair) => [2 * pair, 2 * pair + 1]);
      const results = await Promise.all(ids.map(create));
      pairs = pairs.filter((_, index) => {
        const [stored, refused] = results.slice(2 * index, 2 * index + 2);
        expectUnavailable(refused!.answer, refused!.took < 1_000 ? 50300 : expect.any(Number));
        if (stored!.answer.status === 200) return false;
        expect(stored!.answer.status).toBe(503);
        expect(stored!.took).toBeGreaterThan(1_000);
        return true;
      });
    }
    expect(reports()).toEqual([
      expect.objectContaining({
        level: 50,
        msg: 'the database rejects INSERT',
        reason: 'could not establish connection',
      }),
    ]);

    await database.query('DROP TRIGGER refuse ON plants');
    await vi.waitFor(async () => {
      expect((await service.post({ id: 1, name: 'a' })).status).toBe(200);
      expect(service.log.map(({ msg }) => msg)).toContain('the database accepts INSERT again');
    }, PATIENCE);
    expect(reports()).toHaveLength(1);
  });

  it('for want of a privilege refuses them in one statement, and the log has a line when it begins and when it ends', async () => {
    const groups = async () => {
      const metrics = await (await fetch(`${service.managementUrl}/metrics`)).text();
      return Number(
        /^plant_store_creation_group_rows_count\{resource="plants"\} (\d+)$/m.exec(metrics)![1],
      );
    };
    await database.query(`REVOKE INSERT ON plants FROM ${GUEST}`);
    const reported = reports().length;
    const before = await groups();
    const answers = await Promise.all(
      Array.from({ length: 100 }, (_, id) => service.post({ id: 1_000 + id, name: 'a' })),
    );
    for (const answer of answers) expectUnavailable(answer);
    const rejected = (await groups()) - before;
    expect(rejected).toBeLessThan(100);
    expect(reports().slice(reported)).toEqual([
      expect.objectContaining({
        level: 50,
        msg: 'the database rejects INSERT',
        reason: 'permission denied for table plants',
      }),
    ]);
    await database.query(`GRANT INSERT ON plants TO ${GUEST}`);
    await vi.waitFor(async () => {
      expect((await service.post({ id: 1, name: 'a' })).status).toBe(200);
      expect(service.log).toContainEqual(
        expect.objectContaining({ msg: 'the database accepts INSERT again', rejected }),
      );
    }, PATIENCE);
    expect(reports()).toHaveLength(reported + 1);
  });
});
