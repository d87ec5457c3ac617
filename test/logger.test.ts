import { afterEach, describe, expect, it, vi } from 'vitest';
import { createLogger, NestLog } from '../src/observability/logger.js';

afterEach(() => vi.restoreAllMocks());

describe('the log', () => {
  it('is JSON lines when nobody is looking', async () => {
    const logger = await createLogger('warn');
    expect(logger.level).toBe('warn');
    expect(logger.isLevelEnabled('info')).toBe(false);
  });

  it('is readable on a terminal', async () => {
    const original = Object.getOwnPropertyDescriptor(process.stdout, 'isTTY');
    Object.defineProperty(process.stdout, 'isTTY', { value: true, configurable: true });
    const logger = await createLogger('silent');
    expect(logger.level).toBe('silent');
    if (original === undefined) Reflect.deleteProperty(process.stdout, 'isTTY');
    else Object.defineProperty(process.stdout, 'isTTY', original);
  });

  it('is JSON lines on a terminal, too, where the reader is not installed', async () => {
    const original = Object.getOwnPropertyDescriptor(process.stdout, 'isTTY');
    Object.defineProperty(process.stdout, 'isTTY', { value: true, configurable: true });
    vi.doMock('pino-pretty', () => {
      throw new Error('not installed');
    });
    expect((await createLogger('silent')).level).toBe('silent');
    vi.doUnmock('pino-pretty');
    if (original === undefined) Reflect.deleteProperty(process.stdout, 'isTTY');
    else Object.defineProperty(process.stdout, 'isTTY', original);
  });

  it('tells an error with its causes, and without what libraries add to it', async () => {
    const lines: Record<string, unknown>[] = [];
    const logger = await createLogger('info', {
      write: (line) => void lines.push(JSON.parse(line) as Record<string, unknown>),
    });
    const cause = Object.assign(new Error('inner'), { code: '57014', parameters: ['secret'] });
    logger.error({ err: new Error('outer', { cause }) });
    logger.error({ err: 'secret' });
    expect(lines).toMatchObject([
      { err: { type: 'Error', message: 'outer', cause: { message: 'inner', code: '57014' } } },
      { err: { type: 'string' } },
    ]);
    expect(JSON.stringify(lines)).not.toContain('secret');
  });

  it('has what Nest says, its chatter only for those who look for faults', async () => {
    const lines: Record<string, unknown>[] = [];
    const write = (line: string) => void lines.push(JSON.parse(line) as Record<string, unknown>);
    const log = new NestLog(await createLogger('debug', { write }));
    log.log('mapped', 'Router');
    log.warn('careful', 'Router');
    log.error('broken', 'stack', 'Router');
    expect(lines).toMatchObject([
      { level: 20, msg: 'mapped', context: 'Router' },
      { level: 40, msg: 'careful', context: 'Router' },
      { level: 50, msg: 'broken', context: 'Router', stack: 'stack' },
    ]);
  });
});
