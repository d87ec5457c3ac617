import { describe, expect, it } from 'vitest';
import { createLogger, NestLog } from '../src/observability/logger.js';

describe('the log', () => {
  it('leaves out what is below its level', () => {
    const logger = createLogger('warn');
    expect(logger.level).toBe('warn');
    expect(logger.isLevelEnabled('info')).toBe(false);
  });

  it('tells an error with its causes, and without what libraries add to it', () => {
    const lines: Record<string, unknown>[] = [];
    const logger = createLogger('info', {
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

  it('has what Nest says, its chatter only for those who look for faults', () => {
    const lines: Record<string, unknown>[] = [];
    const write = (line: string) => void lines.push(JSON.parse(line) as Record<string, unknown>);
    const log = new NestLog(createLogger('debug', { write }));
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
