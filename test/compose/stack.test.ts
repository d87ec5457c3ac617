import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { SHUTDOWN_LIMITS } from '../../packages/framework/src/app/service.js';
import { lastingPort } from '../support/lasting-port.js';

/* The real stack: needs a Docker engine, and the images that the files name. */

const run = promisify(execFile);

const PROJECT = `plant-store-test-${randomBytes(4).toString('hex')}`;
const TOKEN = 'plant-store-local-token-that-everybody-knows';

/** Prometheus scrapes every 15 s. */
const PATIENCE = { timeout: 60_000, interval: 500 };

let port: number;
let prometheusPort: number;

beforeAll(async () => {
  port = await lastingPort();
  prometheusPort = await lastingPort();
  await compose('up', '--detach', '--build', '--wait', '--wait-timeout', '120');
});

afterAll(() => withMonitoring('down', '--volumes', '--timeout', '30'));

async function compose(...command: readonly string[]): Promise<string> {
  const { PATH, HOME, DOCKER_HOST, DOCKER_CONTEXT, DOCKER_CONFIG, COMPOSE_FILE } = process.env;
  const { stdout } = await run(
    'docker',
    // As without a file .env.
    ['compose', '--env-file', '/dev/null', '--project-name', PROJECT, ...command],
    {
      env: {
        PATH,
        HOME,
        DOCKER_HOST,
        DOCKER_CONTEXT,
        DOCKER_CONFIG,
        COMPOSE_FILE,
        PORT: String(port),
        PROMETHEUS_PORT: String(prometheusPort),
        // Random ports do not work here, because Prometheus has a fixed target.
        MANAGEMENT_PORT: '4000',
      },
      maxBuffer: 2 ** 26,
    },
  );
  return stdout;
}

function withMonitoring(...command: readonly string[]): Promise<string> {
  return compose('--profile', 'monitoring', ...command);
}

/** Why the image is missing and cannot be pulled, if no registry answers. */
async function reasonToDoWithout(service: string): Promise<string | undefined> {
  try {
    await withMonitoring('pull', '--quiet', '--policy', 'missing', service);
    return undefined;
  } catch (error) {
    const { stderr } = error as { readonly stderr: string };
    // The registry answered, so the name in the file is wrong.
    if (/manifest|not found|denied/i.test(stderr)) throw error;
    return stderr;
  }
}

async function inspect(service: string, format: string): Promise<string> {
  const id = (await compose('ps', '--all', '--quiet', service)).trim();
  return (await run('docker', ['inspect', '--format', format, id])).stdout.trim();
}

const MONSTERA = '{"id":1,"name":"Monstera","tag":"indoor"}';

function get(path: string): Promise<Response> {
  return fetch(`http://localhost:${port}${path}`, {
    headers: { Authorization: `Bearer ${TOKEN}` },
  });
}

describe('docker compose up', () => {
  it('prints the addresses, and a curl line that works when pasted', async () => {
    const log = await compose('logs', '--no-log-prefix', 'api');
    expect(log).toContain(`Docs          http://localhost:${port}/docs`);
    const line = /^curl .*$/m.exec(log)?.[0] ?? '';
    const { stdout } = await run('bash', ['-c', line]);
    expect(stdout).toBe('{"name":"Monstera","tag":"indoor"}\n');
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

  it('connects the service as a role that may not change the schema', async () => {
    const psql = 'psql --host=127.0.0.1 --username=plant_store_service --dbname=plant_store -tAc';
    const asService = `exec -T --env PGPASSWORD=plant-store-local postgres ${psql}`.split(' ');
    const sql = (statement: string) => compose(...asService, statement);
    expect(await sql('SELECT name FROM plants')).toBe('Monstera\n');
    await expect(sql('ALTER TABLE plants ADD other int')).rejects.toThrow('must be owner of table');
    await expect(sql('CREATE TABLE other (id int)')).rejects.toThrow('permission denied');
  });

  it('has the command plant-store, which finds the service of its container', async () => {
    expect(await compose('exec', '-T', 'api', 'plant-store', 'export')).toBe(`${MONSTERA}\n`);
  });

  it('exports with an issued token where the service has no static token', async () => {
    const create = 'exec -T api plant-store token create --name export --expires 30m'.split(' ');
    const token = (await compose(...create)).trim();
    const variables = `--env AUTH_TOKEN= --env AUTH_ISSUED_TOKENS=true --env PLANT_STORE_TOKEN=${token}`;
    const exported = await compose(...`exec -T ${variables} api plant-store export`.split(' '));
    expect(exported).toBe(`${MONSTERA}\n`);
  });

  it('says in the words of docs/troubleshooting.md that the port is taken', async () => {
    const words = await readFile('docs/troubleshooting.md', 'utf8');
    const row =
      words.split('\n').find((line) => line.includes('PORT=8080 docker compose up')) ?? '';
    const [cell = ''] = row.split(' | ');
    const listed = [...cell.matchAll(/`([^`]+)`/g)].map(([, phrase = '']) => phrase);
    const other = ['--project-name', `${PROJECT}-other`] as const;
    const { stderr } = await compose(...other, 'run', '--no-deps', '--service-ports', 'api').then(
      () => ({ stderr: '' }),
      (error: unknown) => error as { readonly stderr: string },
    );
    await compose(...other, 'down', '--volumes');
    expect(stderr).toContain(String(port));
    expect(listed.filter((phrase) => stderr.includes(phrase))).not.toEqual([]);
  });

  it.each(['api', 'postgres'])('starts %s again after kill -9', async (service) => {
    const pid = await inspect(service, '{{.State.Pid}}');
    const kill = `process.kill(${pid}, 'SIGKILL')`;
    const inHost = 'run --rm --pid=host --user=0 plant-store node -e'.split(' ');
    await run('docker', [...inHost, kill]);
    await vi.waitFor(async () => expect((await get('/plants/1')).status).toBe(200), PATIENCE);
    expect(await inspect(service, '{{.RestartCount}}')).toBe('1');
  });

  it('keeps the plants after down and up', async () => {
    expect(await (await get('/plants/1')).text()).toBe(MONSTERA);
    // A service that is not done by then is killed, with another exit code.
    const { drain, close } = SHUTDOWN_LIMITS;
    await compose('stop', '--timeout', String((drain + close) / 1000));
    for (const service of ['api', 'postgres']) {
      expect(await inspect(service, '{{.State.ExitCode}}')).toBe('0');
    }
    await compose('down');
    await compose('up', '--detach', '--wait', '--wait-timeout', '120');
    expect(await (await get('/plants/1')).text()).toBe(MONSTERA);
  });
});

describe('docker compose --profile monitoring up', () => {
  async function prometheus<T>(path: string): Promise<T> {
    const response = await fetch(`http://localhost:${prometheusPort}/api/v1/${path}`);
    return ((await response.json()) as { readonly data: T }).data;
  }

  it('adds Prometheus and Grafana', async () => {
    const services = await withMonitoring('config', '--services');
    expect(services.split('\n')).toEqual(expect.arrayContaining(['prometheus', 'grafana']));
  });

  it('runs Prometheus with the service as a target and with the rules, without privileges', async ({
    skip,
  }) => {
    const reason = await reasonToDoWithout('prometheus');
    if (reason !== undefined) {
      console.warn(`Prometheus was not brought up, because there is no image: ${reason}`);
      skip(reason);
    }
    await withMonitoring('up', '--detach', '--no-recreate', '--wait', 'api', 'prometheus');
    await vi.waitFor(async () => {
      const { activeTargets } = await prometheus<{ readonly activeTargets: readonly unknown[] }>(
        'targets',
      );
      expect(activeTargets).toEqual([
        expect.objectContaining({ scrapeUrl: 'http://api:13001/metrics', health: 'up' }),
      ]);
    }, PATIENCE);
    const { groups } = await prometheus<{ readonly groups: readonly { readonly name: string }[] }>(
      'rules',
    );
    expect(groups.map(({ name }) => name)).toContain('plant-store-error-budget');
    const status = await withMonitoring('exec', 'prometheus', 'cat', '/proc/1/status');
    expect(status).toMatch(/^Uid:\s+65534\s/m);
    expect(status).toMatch(/^CapEff:\s+0+$/m);
  });
});
