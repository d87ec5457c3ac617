import { describe, expect, it } from 'vitest';
import { createLogger, NestLog } from '../../src/observability/logger.js';

describe('the log', () => {
  it('contains an error with its causes, without further members', () => {
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

  it.each([['json'], ['text']] as const)("supports the calls of Nest's Logger, in %s", (format) => {
    let written = '';
    const log = new NestLog(
      createLogger('trace', { write: (line) => void (written += line) }, format),
    );
    log.log('Mapped {/tools, GET} route', 'RouterExplorer');
    log.log('lent', 'Librarian');
    log.warn({ an: 'object' }, 'second', 'Gardener');
    log.error('broken', new Error('inner'), 'Gardener');
    log.error(new Error('alone'));
    log.error('failed', 'Error: far\n    at away (file.js:1:1)', 'Gardener');
    log.debug('detail', 'Gardener');
    log.verbose('more detail', 'Gardener');
    log.fatal('the end', 'Gardener');
    if (format === 'text') {
      expect(written).toContain('ERROR broken context=Gardener\n    Error: inner\n        at ');
      expect(written).toContain('    Error: far\n        at away (file.js:1:1)\n');
      return;
    }
    const lines = written.trim().split('\n');
    expect(lines.map((line) => JSON.parse(line) as object)).toMatchObject([
      { level: 20, msg: 'Mapped {/tools, GET} route', context: 'RouterExplorer' },
      { level: 30, msg: 'lent', context: 'Librarian' },
      { level: 40, msg: 'second', an: 'object', context: 'Gardener' },
      { level: 50, msg: 'broken', context: 'Gardener', err: { message: 'inner' } },
      { level: 50, msg: 'alone', err: { message: 'alone', stack: expect.stringContaining('at ') } },
      { level: 50, msg: 'failed', stack: expect.stringContaining('at away') },
      { level: 20, msg: 'detail' },
      { level: 10, msg: 'more detail' },
      { level: 60, msg: 'the end' },
    ]);
  });
});
