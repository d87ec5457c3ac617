import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, statSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { get, request } from 'node:http';
import type { IncomingMessage } from 'node:http';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, vi } from 'vitest';
import { LAST_CALL } from '../../packages/framework/src/http/server/drain.js';
import { SHUTDOWN_LIMITS } from '../../packages/framework/src/app/service.js';
import { Crowd, TOKEN } from '../support/crowd.js';
import { it as base } from '../support/deployment.js';
import type { OwnPostgres } from '../support/own-postgres.js';
import { PATIENCE } from '../../packages/framework/test/support/patience.js';
import { IMPATIENT, Run } from '../support/plant-store-command.js';
import { isServed } from '../support/reckoning.js';
import type { Replica } from '../support/replica.js';
import { startDefaultNginx } from '../support/reverse-proxy.js';
import { expectReckoning } from '../support/verdicts.js';

const COUNT = 20_000;

type Proxy = Awaited<ReturnType<typeof startDefaultNginx>>;

const it = base.extend<{ readonly proxy: Proxy }>({
  proxy: async ({ workspace, replica }, use) => {
    const proxy = await startDefaultNginx(workspace, replica);
    await use(proxy);
    await proxy.stop();
  },
});

let postgres: OwnPostgres;
let replica: Replica;

it.beforeEach(({ postgres: server, replica: one }) => {
  [postgres, replica] = [server, one];
});

/** The lines of plants with the ids 1 to `count`. Half-way, the source waits for something to happen. */
async function* plants(
  count: number,
  halfWay?: () => Promise<void>,
  tag?: string,
): AsyncGenerator<string> {
  for (let first = 1; first <= count; first += 100) {
    if (first > count / 2) {
      await halfWay?.();
      halfWay = undefined;
    }
    const ids = Array.from({ length: 100 }, (_, index) => first + index);
    yield ids.map((id) => `${JSON.stringify({ id, name: `Plant ${id}`, tag })}\n`).join('');
  }
}

/** The answer of an import; fails if the connection breaks. */
function importing(lines: AsyncIterable<string>): Promise<string> {
  return new Promise((resolve, reject) => {
    const outgoing = request(`${replica.url}/import`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${TOKEN}`, 'Content-Type': 'application/x-ndjson' },
    });
    outgoing.once('response', (response) => void text(response).then(resolve, reject));
    outgoing.once('error', reject);
    pipeline(Readable.from(lines), outgoing).catch(reject);
  });
}

function summaryOf(answer: string): Record<'created' | 'unchanged' | 'refused', number> {
  return JSON.parse(answer.trimEnd().split('\n').at(-1) ?? '') as ReturnType<typeof summaryOf>;
}

async function imported(): Promise<number> {
  const [row] = await postgres.query('SELECT count(*) FROM plants WHERE id BETWEEN 1 AND 1e9');
  return Number(row?.['count']);
}

/** Waits until the import has stored some plants. */
async function hasBegun(): Promise<void> {
  await vi.waitFor(async () => expect(await imported()).toBeGreaterThan(1_000), PATIENCE);
}

/** The ids of an export, which pauses half-way until something has happened. */
async function exporting(halfWay: () => Promise<void>): Promise<number[]> {
  const response = await replica.send('GET', '/plants/export');
  let body = '';
  for await (const chunk of response.body!.pipeThrough(new TextDecoderStream())) {
    if (body === '') await halfWay();
    body += chunk;
  }
  return idsIn(body);
}

function idsIn(lines: string): number[] {
  return lines
    .trimEnd()
    .split('\n')
    .map((line) => (JSON.parse(line) as { id: number }).id);
}

describe('an import', () => {
  it('survives a database that is killed in the middle', async () => {
    const answer = await importing(
      plants(COUNT, async () => {
        await hasBegun();
        postgres.signal('SIGKILL');
        await postgres.startAgain();
      }),
    );
    const { created, unchanged, refused } = summaryOf(answer);
    // A group can be stored although its answer was lost.
    expect({ total: created + unchanged, refused }).toEqual({ total: COUNT, refused: 0 });
    expect(await imported()).toBe(COUNT);
  });

  it('has no summary if the service is killed, and can be sent again', async () => {
    const half = plants(COUNT, async () => {
      await hasBegun();
      await replica.kill();
    });
    await expect(importing(half)).rejects.toThrow(/socket hang up|ECONNRESET|EPIPE/);
    const before = await imported();
    expect(before).toBeLessThan(COUNT);
    await replica.startAgain();
    expect(summaryOf(await importing(plants(COUNT)))).toEqual({
      created: COUNT - before,
      unchanged: before,
      refused: 0,
    });
  });

  it('does not delay a shutdown beyond its timeout', async () => {
    const terminated = new AbortController();
    const endless = async function* () {
      yield 'no plant\n';
      for (let id = 1; !terminated.signal.aborted; id += 1) {
        yield `{"id":${id},"name":"Plant ${id}"}\n`;
        await sleep(1);
      }
    };
    const ended = importing(endless()).catch(String);
    await hasBegun();
    const start = performance.now();
    expect(await replica.terminate()).toEqual({ code: 0, signal: null });
    const { drain, close } = SHUTDOWN_LIMITS;
    expect(performance.now() - start).toBeLessThan(LAST_CALL + drain + LAST_CALL + close);
    terminated.abort();
    expect((await ended).trimEnd().split('\n').at(-1)).toBe(
      '{"error":50302,"message":"the service is shutting down"}',
    );
  });

  it('leaves room for single creates', async () => {
    const crowd = new Crowd({ urls: [replica.url], clients: 16 });
    const summaries = await Promise.all([1, 2, 3].map(() => importing(plants(COUNT / 4))));
    expect(crowd.attempts.length).toBeGreaterThan(1_000);
    expect(summaries.map((answer) => summaryOf(answer).refused)).toEqual([0, 0, 0]);
    await crowd.served(100);
    expect(crowd.attempts.filter((attempt) => !isServed(attempt))).toEqual([]);
    await postgres.query('DELETE FROM plants WHERE id BETWEEN 1 AND 1e9');
    await expectReckoning(crowd, postgres, replica);
  });

  it('needs the same memory for five times as many lines, like an export', async () => {
    // So long that to keep them all would take as much again as the service does.
    const tag = 'x'.repeat(4_000);
    const both = async (count: number) => {
      expect(summaryOf(await importing(plants(count, undefined, tag))).refused).toBe(0);
      expect(await exporting(() => Promise.resolve())).toHaveLength(count);
    };
    await both(COUNT / 4);
    const few = replica.peakMemory();
    await both((5 * COUNT) / 4);
    expect(replica.peakMemory()).toBeLessThan(1.5 * few);
  });
});

describe('an export', () => {
  it('survives a database that is killed in the middle', async () => {
    await postgres.query(
      `INSERT INTO plants SELECT n, 'Plant ' || n, repeat('x', 1000) FROM generate_series(1, ${COUNT}) n`,
    );
    const ids = await exporting(async () => {
      postgres.signal('SIGKILL');
      await postgres.startAgain();
    });
    expect(ids).toEqual(Array.from({ length: COUNT }, (_, index) => index + 1));
  });
});

it('an import behind nginx counts a line as refused that is longer than nginx accepts', async ({
  workspace,
  proxy,
}) => {
  const file = workspace.path('plants.ndjson');
  const long = `{"id":0,"name":"${'x'.repeat(8_000_000)}"}\n`;
  await writeFile(file, (await text(Readable.from(plants(1_000)))) + long);
  const refused = workspace.path('refused.ndjson');
  const command = new Run(proxy.url, ['import', file, '--refused', refused], {
    env: { PLANT_STORE_TOKEN: TOKEN },
  });
  expect(await command.result).toMatchObject({
    code: 1,
    stdout: expect.stringMatching(/^created 1000, unchanged 0, refused 1 /),
    stderr: expect.stringContaining(':1001: the response was 413 Request Entity Too Large\n'),
  });
  expect(await readFile(refused, 'utf8')).toBe(long);
});

describe('an export behind a proxy that speaks HTTP/1.0 to the service', () => {
  /** Enough for the service to die before it has sent them. */
  const MANY = 5 * COUNT;

  let proxy: Proxy;
  let folder: string;
  let file: string;

  it.beforeEach(async ({ workspace, proxy: nginx }) => {
    proxy = nginx;
    await postgres.query(
      `INSERT INTO plants SELECT n, 'Plant ' || n, repeat('x', 1000) FROM generate_series(1, ${MANY}) n`,
    );
    folder = await mkdtemp(workspace.path('exported-'));
    file = join(folder, 'plants.ndjson');
  });

  function command(limits = IMPATIENT): Run {
    const env = { PLANT_STORE_TOKEN: TOKEN };
    return new Run(proxy.url, ['export', '--output', file], { env, limits });
  }

  /** curl, then what docs/import-and-export.md says to do. Returns the exit codes. */
  async function curl(): Promise<readonly (number | null)[]> {
    const codes: (number | null)[] = [];
    for (const line of [
      `curl -sS ${proxy.url}/plants/export -H 'Authorization: Bearer ${TOKEN}' -o plants.ndjson`,
      "tail -n 1 plants.ndjson | grep -qx ''",
    ]) {
      const child = spawn('sh', ['-c', line], { cwd: folder, stdio: 'ignore' });
      const [code] = (await once(child, 'close')) as [number | null];
      codes.push(code);
    }
    return codes;
  }

  /** Kills the service as soon as the file, whatever its name, has some plants. */
  async function killHalfWay(): Promise<void> {
    const sizes = () => readdirSync(folder).map((name) => statSync(join(folder, name)).size);
    const begun = () => expect(Math.max(0, ...sizes())).toBeGreaterThan(0);
    await vi.waitFor(begun, { timeout: PATIENCE, interval: 1 });
    await replica.kill();
  }

  it('breaks if it fails', async () => {
    const headers = { Authorization: `Bearer ${TOKEN}` };
    const response = await new Promise<IncomingMessage>((resolve, reject) => {
      get(`${proxy.url}/plants/export`, { headers }, resolve).once('error', reject);
    });
    await postgres.query('ALTER TABLE plants RENAME TO moved');
    await expect(text(response)).rejects.toThrow('aborted');
  });

  it('has no empty line if the service is killed, although curl takes it for complete', async () => {
    expect(await curl()).toEqual([0, 0]);
    await rm(file);
    const halfWay = killHalfWay();
    expect(await curl()).toEqual([0, 1]);
    await halfWay;
    expect((await readFile(file, 'utf8')).split('\n').length).toBeLessThan(MANY);
  });

  it('is completed by the command when another process serves', async () => {
    const { result } = command();
    await killHalfWay();
    await replica.startAgain();
    expect(await result).toMatchObject({ code: 0, stderr: expect.stringMatching(/trying again/) });
    expect(readdirSync(folder)).toEqual(['plants.ndjson']);
    expect(idsIn(await readFile(file, 'utf8'))).toEqual(
      Array.from({ length: MANY }, (_, index) => index + 1),
    );
  });

  it('leaves no file of the command if no process serves', async () => {
    const { result } = command({ ...IMPATIENT, patience: 2_000 });
    await killHalfWay();
    const { code, stderr } = await result;
    expect(stderr).toMatch(/^incomplete: \d+ plants /m);
    expect(code).toBe(3);
    expect(readdirSync(folder)).toEqual([]);
  });
});
