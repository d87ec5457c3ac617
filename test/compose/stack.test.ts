import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { SHUTDOWN_LIMITS } from '../../src/service.js';

/* The real stack: needs a Docker engine, and the images that the files name. */

const run = promisify(execFile);

const PROJECT = `plant-store-test-${randomBytes(4).toString('hex')}`;
const TOKEN = 'plant-store-local-token-that-everybody-knows';

let port: number;

beforeAll(async () => {
  port = await freePort();
  await compose('up', '--detach', '--build', '--wait', '--wait-timeout', '120');
});

afterAll(() => compose('down', '--volumes', '--rmi', 'local', '--timeout', '30'));

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port: free } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return free;
}

async function compose(...command: readonly string[]): Promise<string> {
  const { PATH, HOME, DOCKER_HOST, DOCKER_CONTEXT, DOCKER_CONFIG } = process.env;
  const { stdout } = await run(
    'docker',
    // As without a file .env.
    ['compose', '--env-file', '/dev/null', '--project-name', PROJECT, ...command],
    {
      env: { PATH, HOME, DOCKER_HOST, DOCKER_CONTEXT, DOCKER_CONFIG, PORT: String(port) },
      maxBuffer: 2 ** 26,
    },
  );
  return stdout;
}

async function inspect(service: string, format: string): Promise<string> {
  const id = (await compose('ps', '--all', '--quiet', service)).trim();
  return (await run('docker', ['inspect', '--format', format, id])).stdout.trim();
}

function get(path: string): Promise<Response> {
  return fetch(`http://localhost:${port}${path}`, {
    headers: { Authorization: `Bearer ${TOKEN}` },
  });
}

describe('docker compose up', () => {
  it('says where to go next, with a line that works when pasted', async () => {
    const log = await compose('logs', '--no-log-prefix', 'api');
    expect(log).toContain(`Docs          http://localhost:${port}/docs`);
    const line = /^curl .*$/m.exec(log)?.[0] ?? '';
    const { stdout } = await run('bash', ['-c', line]);
    expect(stdout).toBe('{"name":"Monstera","tag":"indoor"}');
    expect((await get('/docs')).status).toBe(200);
  });

  it('runs the service without privileges, and ends the migrations', async () => {
    expect(await inspect('api', '{{.State.Health.Status}}')).toBe('healthy');
    expect(await inspect('migrate', '{{.State.Status}} {{.State.ExitCode}}')).toBe('exited 0');
    const status = await compose('exec', 'api', 'cat', '/proc/1/status');
    expect(status).toMatch(/^Uid:\s+1000\s/m);
    expect(status).toMatch(/^CapEff:\s+0+$/m);
    expect(status).toMatch(/^NoNewPrivs:\s+1$/m);
    await expect(compose('exec', 'api', 'touch', '/app/file')).rejects.toThrow('Read-only');
  });

  it('keeps the plants when it is taken down and brought up again', async () => {
    expect(await (await get('/plants/1')).json()).toEqual({
      id: 1,
      name: 'Monstera',
      tag: 'indoor',
    });
    // Who is not done by then is killed, and has another exit code.
    await compose(
      'stop',
      '--timeout',
      String((SHUTDOWN_LIMITS.drain + SHUTDOWN_LIMITS.close) / 1000),
    );
    for (const service of ['api', 'postgres']) {
      expect(await inspect(service, '{{.State.ExitCode}}')).toBe('0');
    }
    await compose('down');
    await compose('up', '--detach', '--wait', '--wait-timeout', '120');
    expect(await (await get('/plants/1')).json()).toEqual({
      id: 1,
      name: 'Monstera',
      tag: 'indoor',
    });
  });
});
