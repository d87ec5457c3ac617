import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, expect, it, onTestFinished } from 'vitest';

const START = resolve(import.meta.dirname, '../../src/cli/start.js');

let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tool-library-start-'));
  const scripts = { build: `node -e "fs.writeFileSync('built', '')"` };
  await writeFile(
    join(folder, 'package.json'),
    JSON.stringify({ name: 'tool-library', type: 'module', scripts }),
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

async function start(env: NodeJS.ProcessEnv) {
  const { DATABASE_URL: _, ...inherited } = process.env;
  const child = spawn(process.execPath, [START, 'service.js'], {
    cwd: folder,
    env: { ...inherited, PORT: '0', MANAGEMENT_PORT: '0', ...env },
  });
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

it('says before the build that the service already runs in this folder', async () => {
  const port = await takenPort();
  const data = join(folder, '.data', 'postgres', 'data');
  await mkdir(data, { recursive: true });
  await writeFile(join(data, 'postmaster.pid'), `${process.pid}\n${data}\n`);
  const { code, stderr } = await start({ PORT: String(port) });
  expect([code, stderr.split('\n')[1]]).toEqual([
    1,
    'tool-library: the service seems to run in this folder already: stop it first. If it was killed, set PORT',
  ]);
});

it('leaves a wrong value to the service, which names all of them', async () => {
  expect(await start({ PORT: 'http', MANAGEMENT_PORT: '70000' })).toMatchObject({ code: 0 });
});
