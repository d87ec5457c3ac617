import { pino } from 'pino';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { createLogger, NestLog } from '../src/operations/logger.js';

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

  it('has what Nest says, its chatter only for those who look for faults', () => {
    const lines: Record<string, unknown>[] = [];
    const write = (line: string) => void lines.push(JSON.parse(line) as Record<string, unknown>);
    const log = new NestLog(pino({ level: 'debug' }, { write }));
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
