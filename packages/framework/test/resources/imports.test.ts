import { DatabaseError } from 'pg';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { Rejected } from '../../src/database/waiting-item.js';
import { Semaphore } from '../../src/database/semaphore.js';
import { ERRORS } from '../../src/errors/common-errors.js';
import { ServiceException } from '../../src/errors/service.exception.js';
import type { BodyLine } from '../../src/http/body/body-lines.js';
import { createLogger } from '../../src/observability/logger.js';
import { NO_TRACER } from '../../src/observability/tracer.js';
import type { GroupCreate } from '../../src/resources/creates/group-create.js';
import type { Row, Stored } from '../../src/resources/creates/group-insert.js';
import { Imports } from '../../src/resources/transfers/imports.js';
import { ALL_ERRORS, ToolDto } from '../support/tool.js';

const store = vi.fn<(tool: ToolDto) => Promise<Stored>>();
const log: string[] = [];
/** Milliseconds since the last single create. */
let sinceCreate: number;
let slots: Semaphore;
let imports: Imports<ToolDto>;
let end: AbortController;

beforeEach(() => {
  vi.useFakeTimers();
  store.mockReset();
  end = new AbortController();
  log.length = 0;
  sinceCreate = Infinity;
  slots = new Semaphore(8, ERRORS.tooManyImports);
  const creates = {
    rowOf: (content: ToolDto) => ({ content, parameters: [content.name], actor: [] }),
    createMany: (rows: readonly Row<ToolDto>[]) => {
      const stored = rows.map(({ content }) => store(content));
      return Promise.all(stored.map((one) => one.catch((error) => new Rejected(error))));
    },
    get sinceCreate() {
      return sinceCreate;
    },
  };
  imports = new Imports({
    dto: ToolDto,
    creates: creates as unknown as GroupCreate<ToolDto>,
    slots,
    tracer: NO_TRACER,
    logger: createLogger('info', { write: (line) => void log.push(line) }),
  });
});

afterEach(() => {
  vi.useRealTimers();
});

async function* linesOf(...texts: readonly string[]): AsyncGenerator<readonly BodyLine[]> {
  yield texts.map((text, index) => ({
    number: index + 1,
    length: text.length,
    bytes: Buffer.from(text),
  }));
}

async function run(...texts: readonly string[]): Promise<string> {
  let answer = '';
  const work = (async () => {
    for await (const text of imports.run(linesOf(...texts), end.signal)) answer += text;
  })();
  work.catch(() => {});
  await vi.advanceTimersByTimeAsync(60_000);
  await work;
  return answer;
}

const UNAVAILABLE = new ServiceException(ERRORS.databaseUnavailable);

describe('an import', () => {
  it.each(ALL_ERRORS)('retries a line after $code only if a client may', async (kind) => {
    store.mockRejectedValueOnce(new ServiceException(kind)).mockResolvedValue('created');
    const answer = await run('{"id":1,"name":"a"}').catch(() => '');
    const isTemporary = /^(429|503)/.test(String(kind.number));
    expect(store).toHaveBeenCalledTimes(isTemporary ? 2 : 1);
    expect(answer === '{"created":1,"unchanged":0,"refused":0}\n').toBe(isTemporary);
  });

  it('fails like a create if the outage lasts', async () => {
    store.mockRejectedValue(UNAVAILABLE);
    await expect(run('{"id":1,"name":"a"}')).rejects.toBe(UNAVAILABLE);
  });

  it('repeats nothing after the abort, and fails with its reason', async () => {
    const reason = new ServiceException(ERRORS.tokenExpired);
    store.mockImplementation(() => {
      end.abort(reason);
      return Promise.reject(UNAVAILABLE);
    });
    await expect(run('{"id":1,"name":"a"}')).rejects.toBe(reason);
    expect(store).toHaveBeenCalledTimes(1);
  });

  it('refuses a line that the database refuses, and logs why', async () => {
    const failure = new DatabaseError('violates check constraint "no_weeds"', 0, 'error');
    failure.code = '23514';
    store.mockRejectedValueOnce(failure).mockResolvedValue('created');
    expect(await run('{"id":1,"name":"weed"}', '{"id":2,"name":"a"}')).toBe(
      '{"line":1,"error":50000,"message":"the service failed to handle the request"}\n{"created":1,"unchanged":0,"refused":1}\n',
    );
    expect(log.join('')).toContain('no_weeds');
  });

  it('logs a kind of refusal once in a minute, with the number between', async () => {
    store.mockImplementation(({ id }) =>
      Promise.reject(
        Object.assign(new DatabaseError(`line ${id}`, 0, 'error'), {
          code: 'P0001',
          where: 'trigger',
        }),
      ),
    );
    const lines = Array.from({ length: 20 }, (_, id) => `{"id":${id},"name":"a"}`);
    expect(await run(...lines)).toContain('"refused":20');
    expect(log).toHaveLength(1);
    await run(...lines);
    expect(log).toHaveLength(2);
    expect(JSON.parse(log[1]!)).toMatchObject({ repeated: 19 });
  });

  it('fails when the database lacks what the statement names, whatever the line is', async () => {
    const failure = new DatabaseError('column "name" does not exist', 0, 'error');
    Object.assign(failure, { code: '42703', position: '5' });
    store.mockRejectedValue(failure);
    await expect(run('{"id":1,"name":"a"}', '{"id":2,"name":"a"}')).rejects.toBe(failure);
    expect(log).toEqual([]);
  });

  it.each([
    ['512 lines', 5_000, 0, 512],
    ['as many with all other imports', 5_000, 7, 64],
    ['16 lines while single creates arrive', 500, 0, 16],
  ])('has at most %s in work', async (_, milliseconds, others, most) => {
    sinceCreate = milliseconds;
    for (let other = 0; other < others; other++) slots.take();
    let inWork = 0;
    let peak = 0;
    store.mockImplementation(async () => {
      inWork += 1;
      peak = Math.max(peak, inWork);
      await new Promise((resolve) => setTimeout(resolve, 10));
      inWork -= 1;
      return 'created';
    });
    await run(...Array.from({ length: 2_000 }, (__, id) => `{"id":${id},"name":"a"}`));
    expect(store).toHaveBeenCalledTimes(2_000);
    expect(peak).toBe(most);
  });

  it('fails at a bug, without a summary, and gives back its place', async () => {
    const bug = new TypeError('a bug');
    store.mockRejectedValue(bug);
    for (let round = 0; round < 10; round++) {
      await expect(run('{}', '{"id":1,"name":"a"}')).rejects.toBe(bug);
    }
  });
});
