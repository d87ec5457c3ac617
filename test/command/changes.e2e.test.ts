import { Writable } from 'node:stream';
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { PATIENCE } from '../../packages/framework/test/support/patience.js';
import { CommandProcess, IMPATIENT, Run } from '../support/plant-store-command.js';
import type { Result, RunOptions } from '../support/plant-store-command.js';
import { PRUNE_ALL } from '../support/prune.js';
import { startTestService } from '../support/test-service.js';
import type { TestService } from '../support/test-service.js';
import { linkTo, serve, unsteady } from './stand-ins.js';

let service: TestService;

beforeAll(async () => {
  service = await startTestService();
});

beforeEach(() => service.database.empty());

afterAll(() => service.stop());

interface Change {
  readonly position: number;
  readonly id: number;
}

function run(args: readonly string[], options?: RunOptions): Promise<Result> {
  return new Run(service.url, ['changes', ...args], options).result;
}

const changesIn = (text: string) =>
  text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Change);

const idsIn = (text: string) => changesIn(text).map(({ id }) => id);

/** The ids from 1. */
const upTo = (count: number) => Array.from({ length: count }, (_, index) => index + 1);

async function createPlants(first: number, last: number): Promise<void> {
  for (let id = first; id <= last; id++) {
    expect((await service.post({ id, name: `Séneçon "${id}" 🌵` })).status).toBe(200);
  }
}

/** `plant-store changes --follow` in this process. */
function follow(url: string, args: readonly string[] = [], options: RunOptions = {}) {
  const controller = new AbortController();
  const { signal } = controller;
  const running = new Run(url, ['changes', '--follow', ...args], { signal, ...options });
  return {
    running,
    /** Waits until as many changes were written. */
    written: (count: number) =>
      vi.waitFor(() => expect(changesIn(running.stdout)).toHaveLength(count), PATIENCE),
    interrupt: () => {
      controller.abort('SIGINT');
      return running.result;
    },
  };
}

describe('plant-store changes', () => {
  it('writes a line for each change, up to the newest', async () => {
    const maximum = '9223372036854775807';
    await createPlants(1, 2);
    await service.post(`{"id":${maximum},"name":"Aloe"}`);
    await service.request('DELETE', '/plants/1');
    const { code, stdout, stderr } = await run([]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(changesIn(stdout)).toMatchObject([
      { kind: 'created', plant: { id: 1, name: 'Séneçon "1" 🌵' } },
      { kind: 'created', id: 2 },
      { kind: 'created', plant: { name: 'Aloe' } },
      { kind: 'removed', id: 1 },
    ]);
    expect(stdout).toContain(`"plant":{"id":${maximum},`);
  });

  it('writes all of several pages, also if requests fail', async () => {
    const lines = upTo(2_500).map((id) => `{"id":${id},"name":"a"}\n`);
    await service.request('POST', '/plants/import', {
      body: lines.join(''),
      headers: { 'Content-Type': 'application/x-ndjson' },
    });
    const proxy = await unsteady(service.url, ['bad gateway', 'answer cut', 'unavailable']);
    const { code, stdout } = await new Run(proxy.url, ['changes']).result;
    expect(code).toBe(0);
    expect(idsIn(stdout).toSorted((one, other) => one - other)).toEqual(upTo(2_500));
  });

  it('ends at what was the newest change when it began', async () => {
    const paths: string[] = [];
    const url = await serve(({ url: path = '' }, response) => {
      paths.push(path);
      response.writeHead(200, { 'Content-Type': 'application/json' });
      response.end(
        path === '/changes/latest' ? '{"position":2}' : `[{"position":${paths.length}}]`,
      );
    });
    const { code, stdout } = await new Run(url, ['changes']).result;
    expect({ code, stdout }).toEqual({ code: 0, stdout: '{"position":2}\n' });
    expect(paths).toEqual(['/changes/latest', '/changes?limit=1000']);
  });

  it('begins after a position, and selects a plant', async () => {
    await createPlants(1, 3);
    await service.request('DELETE', '/plants/2');
    const [first] = changesIn((await run([])).stdout);
    expect(idsIn((await run(['--after', `${first!.position}`])).stdout)).toEqual([2, 3, 2]);
    expect(idsIn((await run(['--plant', '2'])).stdout)).toEqual([2, 2]);
    expect((await run(['--plant', '4'])).stdout).toBe('');
  });

  it('goes on past changes without a record if it is told to, also when it continues', async () => {
    await createPlants(1, 2);
    await service.database.query('DELETE FROM plants');
    const { code, stderr } = await run(['--after', '0']);
    expect(code).toBe(3);
    const [, gap] = /acceptGap=(\d+)/.exec(stderr)!;
    expect(idsIn((await run(['--accept-gap', gap!])).stdout)).toEqual([1, 2]);
    const { written, interrupt } = follow(service.url, ['--accept-gap', gap!]);
    await written(2);
    expect((await interrupt()).stderr).toContain(` --accept-gap ${gap}\n`);
  });

  it.each([['--after', 'x'], ['--plant', '9223372036854775808'], ['--tail']])(
    'does not accept %s %s',
    async (...args) => {
      expect(await run(args)).toMatchObject({ code: 2, stdout: '' });
    },
  );

  it('fails if changes after the position are no longer kept, and does not say to continue', async () => {
    await createPlants(1, 1);
    await service.database.query(PRUNE_ALL);
    for (const mode of [[], ['--follow']]) {
      const { code, stderr } = await run([...mode, '--after', '0']);
      expect(code).toBe(3);
      expect(stderr).toMatch(/^plant-store: 41000 .*\n$/);
    }
  });

  it.each([[], ['--follow']])(
    'fails if the service records no changes, and says so',
    async (...mode) => {
      const other = await startTestService({ environment: { CHANGES_ENABLED: 'false' } });
      onTestFinished(() => other.stop());
      const { code, stderr } = await new Run(other.url, ['changes', ...mode]).result;
      expect(code).toBe(3);
      expect(stderr).toMatch(/^plant-store: 40400 .*: this service records no changes/);
    },
  );

  it.each([[], ['--follow']])(
    'fails when its output is full, behind what was written',
    async (...mode) => {
      const isFollowing = mode.length > 0;
      const url = await serve(({ url: path = '' }, response) => {
        const type = isFollowing ? 'text/event-stream' : 'application/json';
        response.writeHead(200, { 'Content-Type': type });
        const position = path.includes('after=1') ? 2 : 1;
        if (isFollowing) response.write('id: 1\ndata: {}\n\nid: 2\ndata: {}\n\n');
        else
          response.end(
            path === '/changes/latest' ? '{"position":2}' : `[{"position":${position}}]`,
          );
      });
      let writes = 0;
      const stdout = new Writable({
        write: (_chunk, _encoding, done) => {
          writes += 1;
          const full = Object.assign(new Error('ENOSPC: no space left'), { syscall: 'write' });
          setImmediate(done, writes === 1 ? undefined : full);
        },
      });
      const { code, stderr } = await new Run(url, ['changes', ...mode], { stdout }).result;
      expect(code).toBe(3);
      const command = ['plant-store', 'changes', ...mode, '--after', '1'].join(' ');
      expect(stderr).toBe(`to continue: ${command}\nplant-store: ENOSPC: no space left\n`);
    },
  );

  it('says how to continue when the service is away for too long', async () => {
    const url = await serve((_request, response) => void response.writeHead(503).end());
    const limits = { ...IMPATIENT, patience: 100 };
    const args = ['changes', '--after', '5', '--plant', '-7'];
    const { code, stderr } = await new Run(url, args, { limits }).result;
    expect(code).toBe(3);
    expect(stderr).toContain('to continue: plant-store changes --after 5 --plant -7\n');
  });
});

describe('plant-store changes --follow', () => {
  it('writes the same lines, and then the changes that come', async () => {
    await createPlants(1, 3);
    const { running, written, interrupt } = follow(service.url);
    await written(3);
    expect(running.stdout).toBe((await run([])).stdout);
    await createPlants(4, 5);
    await written(5);
    await interrupt();
    expect(running.stdout).toBe((await run([])).stdout);
  });

  it('says how to continue when it is interrupted', async () => {
    await createPlants(1, 3);
    const { running, written, interrupt } = follow(service.url);
    await written(3);
    const { code, stderr } = await interrupt();
    expect(code).toBe(130);
    const last = changesIn(running.stdout).at(-1)!.position;
    expect(stderr).toBe(
      `to continue: plant-store changes --follow --after ${last}\nplant-store: interrupted\n`,
    );
    await createPlants(4, 4);
    const [, ...args] = /changes --follow (.*)\n/.exec(stderr)![1]!.split(' ');
    const again = follow(service.url, ['--after', ...args]);
    await again.written(1);
    await again.interrupt();
    expect(idsIn(again.running.stdout)).toEqual([4]);
  });

  it('loses and doubles nothing when a replica stops and another one continues', async () => {
    const before = await startTestService({ database: service.database });
    const link = await linkTo(before.url);
    const { running, written, interrupt } = follow(link.url);
    await createPlants(1, 5);
    const stopped = before.stop();
    await createPlants(6, 10);
    await stopped;
    link.leadTo(service.url);
    await createPlants(11, 15);
    await written(15);
    await interrupt();
    expect(idsIn(running.stdout)).toEqual(upTo(15));
  });

  it('loses and doubles nothing when connections break after a few events', async () => {
    await createPlants(1, 50);
    const link = await linkTo(service.url);
    link.poison({ kind: 'limit_data', bytes: 3_000 });
    const { running, written, interrupt } = follow(link.url);
    await written(50);
    await interrupt();
    expect(idsIn(running.stdout)).toEqual(upTo(50));
    expect(link.harmed).toBeGreaterThan(1);
  });

  it('connects again when the connection is silent', async () => {
    const paths: string[] = [];
    const url = await serve((request, response) => {
      paths.push(request.url ?? '');
      response.writeHead(200, { 'Content-Type': 'text/event-stream' });
      if (paths.length === 1) response.write('id: 7\ndata: {"position":7}\n\nid: 9\n\n');
      else response.write('id: 10\ndata: {"position":10}\n\n');
    });
    const { written, interrupt } = follow(url, ['--plant', '1'], {
      limits: { ...IMPATIENT, idle: 2_000 },
    });
    await written(2);
    expect(paths).toEqual(['/changes?plant=1', '/changes?after=9&plant=1']);
    expect((await interrupt()).stderr).toContain('--follow --after 10 --plant 1\n');
  });

  it('gives up a stream that always ends at once', async () => {
    const url = await serve((_request, response) => {
      response.writeHead(200, { 'Content-Type': 'text/event-stream' }).end(': following\n\n');
    });
    const limits = { ...IMPATIENT, longestPause: 10_000, patience: 200 };
    const { code, stderr } = await follow(url, ['--after', '5'], { limits }).running.result;
    expect(code).toBe(3);
    expect(stderr).toContain('to continue: plant-store changes --follow --after 5\n');
    expect(stderr).toContain('plant-store: the stream of changes ended; gave up after');
  });

  it('reads no faster than its reader', async () => {
    let sent = 0;
    const filler = 'x'.repeat(100_000);
    const url = await serve((_request, response) => {
      response.writeHead(200, { 'Content-Type': 'text/event-stream' });
      const write = (): void => {
        do sent += 1;
        while (response.write(`id: ${sent}\ndata: "${filler}"\n\n`));
      };
      response.on('drain', write);
      write();
    });
    const stdout = new Writable({ write: () => {} });
    const { interrupt } = follow(url, [], { stdout });
    await vi.waitFor(() => expect(sent).toBeGreaterThan(0), PATIENCE);
    let before = 0;
    while (sent > before) {
      before = sent;
      expect(sent).toBeLessThan(1_000);
      await new Promise((resolve) => setTimeout(resolve, 300));
    }
    // What was handed to the reader before.
    expect((await interrupt()).stderr).toContain('--after 1\n');
  });
});

describe('the command as a process', () => {
  it.each([[], ['--follow']])('ends quietly when its reader has gone', async (...mode) => {
    const url = await serve(({ url: path }, response) => {
      const type = mode.length === 0 ? 'application/json' : 'text/event-stream';
      response.writeHead(200, { 'Content-Type': type });
      if (mode.length === 0) {
        response.end(path === '/changes/latest' ? '{"position":2}' : '[{"position":1}]');
        return;
      }
      const write = (): void => {
        while (response.write('id: 1\ndata: {"position":1}\n\n'));
      };
      response.on('drain', write);
      write();
    });
    const { child, result } = new CommandProcess(url, ['changes', ...mode]);
    child.stdout!.once('data', () => child.stdout!.destroy());
    expect(await result).toMatchObject({ code: 141, stderr: '' });
  });

  it.each([
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ] as const)('ends with %s, and has written whole lines', async (name, code) => {
    await createPlants(1, 3);
    const { child, result } = new CommandProcess(service.url, ['changes', '--follow']);
    let stdout = '';
    child.stdout!.on('data', (text: string) => (stdout += text));
    await vi.waitFor(() => expect(changesIn(stdout)).toHaveLength(3), PATIENCE);
    child.kill(name);
    const ended = await result;
    expect(ended.code).toBe(code);
    expect(idsIn(ended.stdout)).toEqual([1, 2, 3]);
    expect(ended.stderr).toContain('to continue: plant-store changes --follow --after ');
  });
});
