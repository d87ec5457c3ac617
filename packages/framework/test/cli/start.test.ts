import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { findUnreachable } from '../../src/cli/unreachable.js';
import { startEmbeddedPostgres } from '../../../local/src/embedded-postgres.js';
import { query } from '../../../local/test/support.js';

const START = resolve(import.meta.dirname, '../../src/cli/start.js');

/** With which a service holds its database. */
const END_SESSION =
  "SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity WHERE application_name = 'tool-library instance'";

let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tool-library-start-'));
  const scripts = { build: `node -e "fs.writeFileSync('built', '')"` };
  await writeFile(
    join(folder, 'package.json'),
    // In a workspace, a package often has a scope, which the service has not.
    JSON.stringify({ name: '@team/tool-library', type: 'module', scripts }),
  );
  await writeFile(join(folder, 'service.js'), `console.log('started');`);
});

afterEach(() => rm(folder, { recursive: true, force: true }));

async function takenPort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  onTestFinished(() => void server.close());
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  return port;
}

function spawnStart(env: NodeJS.ProcessEnv) {
  const { DATABASE_URL: _, ...inherited } = process.env;
  return spawn(process.execPath, [START, 'service.js'], {
    cwd: folder,
    env: { ...inherited, PORT: '0', MANAGEMENT_PORT: '0', ...env },
  });
}

async function start(env: NodeJS.ProcessEnv) {
  const child = spawnStart(env);
  const [stdout, stderr, [code]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'exit'),
  ]);
  return { code: code as number | null, stdout, stderr };
}

it('says that it builds, and becomes the service', async () => {
  const stdout = 'tool-library: building\nstarted\n';
  expect(await start({})).toEqual({ code: 0, stdout, stderr: '' });
});

it('reads a package.json with a byte order mark, as npm does', async () => {
  const file = join(folder, 'package.json');
  await writeFile(file, `\uFEFF${await readFile(file, 'utf8')}`);
  const stdout = 'tool-library: building\nstarted\n';
  expect(await start({})).toEqual({ code: 0, stdout, stderr: '' });
});

it('says that it needs npm, which another package manager does not install', async () => {
  expect(await start({ PATH: join(folder, 'nothing') })).toEqual({
    code: 1,
    stdout: 'tool-library: building\n',
    stderr: 'tool-library: npm cannot be run: spawnSync npm ENOENT\n',
  });
});

it('says before the build which ports are taken, and what to set', async () => {
  const [first, second] = [await takenPort(), await takenPort()];
  await writeFile(join(folder, '.env'), `\uFEFFMANAGEMENT_PORT=${second}\n`);
  expect(await start({ PORT: String(first), MANAGEMENT_PORT: undefined })).toEqual({
    code: 1,
    stdout: '',
    stderr: `tool-library: PORT: port ${first} on 127.0.0.1 is already in use
tool-library: MANAGEMENT_PORT: port ${second} on 127.0.0.1 is already in use
tool-library: set PORT and MANAGEMENT_PORT, in the environment or in .env
`,
  });
  expect(existsSync(join(folder, 'built'))).toBe(false);
});

it('says before the build that the service already runs in this folder, whatever its ports are', async () => {
  const local = await startEmbeddedPostgres({ name: 'tool-library' }, join(folder, '.data'));
  try {
    const port = await takenPort();
    expect(await start({ PORT: String(port), PGOPTIONS: '-c search_path=wrong' })).toEqual({
      code: 1,
      stdout: '',
      stderr: `tool-library: PORT: port ${port} on 127.0.0.1 is already in use
tool-library: the service is already running in this folder: stop it first, or set PORT and DATABASE_URL for a second one
`,
    });
    const [, line = ''] = (await start({})).stderr.split(': the service ');
    expect(line).toBe(
      'is already running in this folder: stop it first, or set DATABASE_URL for a second one\n',
    );
    expect(existsSync(join(folder, 'built'))).toBe(false);
    expect(await start({ DATABASE_URL: local.url })).toMatchObject({ code: 0 });

    // As after `kill -9` of the service: its session has ended, and its database lives on.
    await query(local.url, END_SESSION);
    expect(await start({})).toMatchObject({ code: 0 });
  } finally {
    await local.stop();
  }
});

it('leaves to the service what is no database', async () => {
  const data = join(folder, '.data', 'postgres', 'data');
  await mkdir(data, { recursive: true });
  await writeFile(join(data, 'postmaster.pid'), `${process.pid}\n${data}\n1\n1\n`);
  expect(await start({})).toMatchObject({ code: 0 });
});

it('leaves a wrong value to the service, which names all of them', async () => {
  expect(await start({ PORT: 'http', MANAGEMENT_PORT: '70000' })).toMatchObject({ code: 0 });
});

describe('a database that is out of reach', () => {
  const remedy = (name: string) =>
    `start it, correct the address, or unset ${name} to use the embedded PostgreSQL`;

  it('is told before the build, at once beside another mistake', async () => {
    const [taken, free] = [await takenPort(), await freePort()];
    const url = `postgres://tools:secret@127.0.0.1:${free}/tools`;
    expect(await start({ PORT: String(taken), DATABASE_URL: url })).toEqual({
      code: 1,
      stdout: '',
      stderr: `tool-library: PORT: port ${taken} on 127.0.0.1 is already in use
tool-library: set PORT, in the environment or in .env
tool-library: DATABASE_URL: no server accepts connections at 127.0.0.1:${free} (ECONNREFUSED): ${remedy('DATABASE_URL')}
`,
    });
    expect(existsSync(join(folder, 'built'))).toBe(false);
  });

  it('is waited for before the build', async () => {
    const port = await freePort();
    const database = createServer((socket) => void socket.destroy());
    onTestFinished(() => void database.close());
    const child = spawnStart({ DATABASE_URL: `postgres://tools@127.0.0.1:${port}/tools` });
    let stdout = '';
    child.stdout.setEncoding('utf8').on('data', (part: string) => {
      stdout += part;
      if (part.includes('waiting')) database.listen(port, '127.0.0.1');
    });
    const [code] = (await once(child, 'close')) as [number | null];
    const place = `127.0.0.1:${port} (ECONNREFUSED)`;
    expect({ code, stdout }).toEqual({
      code: 0,
      stdout: `tool-library: waiting up to 30 s for the database at ${place}
tool-library: building
started
`,
    });
  });

  it('is given up after a time, if all of its servers are', async () => {
    const port = await freePort();
    const file = join(folder, 'url');
    await writeFile(file, `postgres://tools:secret@127.0.0.1:${port},[::1]:${port}/tools\n`);
    const said: string[] = [];
    const say = (line: string) => void said.push(line);
    const where = `127.0.0.1:${port}, [::1]:${port} (ECONNREFUSED)`;
    expect(await findUnreachable({ DATABASE_URL_FILE: file }, say, 1_000)).toEqual([
      `DATABASE_URL_FILE: no server accepts connections at ${where}: ${remedy('DATABASE_URL_FILE')}`,
    ]);
    expect(said).toEqual([`waiting up to 1 s for the database at ${where}`]);
    const other = await takenPort();
    const DATABASE_URL = `postgresql://tools@127.0.0.1:${port},127.0.0.1:${other}/tools`;
    expect(await findUnreachable({ DATABASE_URL }, say, 0)).toEqual([]);
  });

  it.each([
    '',
    'mysql://127.0.0.1:1/tools',
    'postgres:///tools?host=/run/postgresql',
    'postgres://127.0.0.1:1/tools?host=db.test',
    'postgres://tools@%2Frun%2Fpostgresql/tools',
    'postgres://127.0.0.1:99999/tools',
    // Passwords that are not encoded, of which nothing may be printed.
    'postgres://tools:1/2@127.0.0.1:1/tools',
    'postgres://tools:1#2@127.0.0.1:1/tools',
  ])('is left to the service if the URL is %j', async (url) => {
    expect(await findUnreachable({ DATABASE_URL: url }, () => {}, 0)).toEqual([]);
  });
});
