import { afterEach, describe, expect, it, vi } from 'vitest';
import { createLogger } from '../../src/observability/logger.js';

/** The output of a text log, without the time. */
function shown(write: (log: ReturnType<typeof createLogger>) => void): string[] {
  let output = '';
  const destination = { write: (text: string) => void (output += text) };
  write(createLogger('trace', destination, 'text'));
  return output.split('\n').slice(0, -1);
}

function afterTheTime(lines: readonly string[]): string[] {
  return lines.map((line) => line.replace(/^\d\d:\d\d:\d\d /, '> '));
}

describe('a log in text', () => {
  it('has a request on one line, under its route, with its id if it was refused', () => {
    const request = { requestId: 'r', method: 'POST', durationMs: 2.683, client: '192.0.2.7' };
    const lines = shown((log) => {
      log.info({ ...request, route: '/tools', status: 200 }, 'request');
      log.info({ ...request, route: '/tools', status: 400, error: 40009 }, 'request');
      log.info({ ...request, route: undefined, status: 404, error: 40400 }, 'request');
      const principal = { principalKind: 'jwt', principalId: 'Jo Bloggs', refusal: 'scope' };
      const refused = { ...request, ...principal, status: 403, error: 40300 };
      log.info({ ...refused, route: '/tools' }, 'request');
      log.info({ ...request, route: '/tools' }, 'request abandoned by the client');
    });
    expect(afterTheTime(lines)).toEqual([
      '> POST /tools 200 2.7 ms',
      '> POST /tools 400 40009 2.7 ms requestId=r',
      '> POST - 404 40400 2.7 ms requestId=r',
      '> POST /tools 403 40300 2.7 ms requestId=r principalKind=jwt principalId="Jo Bloggs" refusal=scope',
      '> POST /tools abandoned 2.7 ms',
    ]);
  });

  it('shows the steps of a start as sentences', () => {
    const lines = shown((log) => {
      log.info({ management: '127.0.0.1:3001' }, 'starting');
      log.info('the database is up to date');
      const listening = { address: '127.0.0.1:3000', management: '127.0.0.1:3001' };
      log.info({ ...listening, docs: 'http://localhost:3000/docs' }, 'listening');
      log.info({ ...listening, address: '[::1]:3000' }, 'listening');
    });
    expect(afterTheTime(lines)).toEqual([
      '> starting, management on http://127.0.0.1:3001',
      '> the database is up to date',
      '> listening on http://127.0.0.1:3000, docs on http://localhost:3000/docs',
      '> listening on http://[::1]:3000',
    ]);
  });

  it('has the local time', () => {
    const [line] = shown((log) => log.info('now'));
    const [hours, minutes, seconds] = /^(\d\d):(\d\d):(\d\d) now$/.exec(line ?? '')!.slice(1);
    const logged = new Date().setHours(Number(hours), Number(minutes), Number(seconds), 0);
    const day = 86_400_000;
    expect((Date.now() - logged + day) % day).toBeLessThan(60_000);
  });

  it('shows other fields after the message, and every level except info', () => {
    const lines = shown((log) => {
      log.warn({ reason: 'connect ECONNREFUSED', count: 2 }, 'the database is unavailable');
      log.info({ applied: ['CreateTools'], nothing: null, gone: undefined }, 'done');
    });
    expect(afterTheTime(lines)).toEqual([
      '> WARN the database is unavailable reason="connect ECONNREFUSED" count=2',
      '> done applied=["CreateTools"] nothing=null',
    ]);
  });

  it('shows all digits of a number, and of fields with one name the last one', () => {
    const lines = shown((log) => {
      log.info({ booking: 2n ** 53n + 1n, rows: [{ id: 2n ** 53n + 1n }], share: 0.1 }, 'booked');
      log.child({ booking: 1 }).info({ booking: 2 }, 'booked');
    });
    expect(afterTheTime(lines)).toEqual([
      '> booked booking=9007199254740993 rows=[{"id":9007199254740993}] share=0.1',
      '> booked booking=2',
    ]);
  });

  it('shows the stack of an error and its causes, indented', () => {
    const cause = new Error('inner');
    const lines = shown((log) => {
      log.error({ error: 50000, err: new Error('outer', { cause }) }, 'failed');
      log.error({ err: 'no error' }, 'failed');
      log.error({ context: 'Router', stack: 'Error: broken\n    at x' }, 'broken');
    });
    const [first, ...others] = afterTheTime(lines);
    expect(first).toBe('> ERROR failed error=50000');
    expect(others[0]).toBe('    Error: outer');
    expect(others[1]).toMatch(/^ {8}at /);
    expect(others).toContain('    caused by Error: inner');
    expect(others.slice(-5)).toEqual([
      '> ERROR failed',
      '    string',
      '> ERROR broken context=Router',
      '    Error: broken',
      '        at x',
    ]);
  });

  it('escapes values that would forge a line or control the terminal', () => {
    const forged = 'x\n23:37:14 POST /tools 200 2.7 ms\r\u001b[2J\u009b\u2028\u202e';
    const lines = shown((log) => {
      log.warn({ reason: forged }, forged);
      log.error({ err: new Error(forged) }, 'failed');
    });
    expect(lines.filter((line) => /^\d\d:/.test(line))).toHaveLength(2);
    // oxlint-disable-next-line no-control-regex
    expect(lines.join('')).not.toMatch(/[\u0000-\u001f\u007f-\u009f\u2028\u202e]/);
    expect(lines[0]).toContain(String.raw`x\u{a}23:37:14`);
  });
});

describe('the format of the log', () => {
  const { isTTY } = process.stdout;

  afterEach(() => {
    process.stdout.isTTY = isTTY;
    vi.restoreAllMocks();
  });

  it.each([
    [true, undefined, /^\d\d:\d\d:\d\d hello\n$/],
    [true, 'json', /^\{.*"msg":"hello"\}\n$/],
    [false, undefined, /^\{.*"msg":"hello"\}\n$/],
    [false, 'text', /^\d\d:\d\d:\d\d hello\n$/],
  ] as const)('on a terminal (%s) and told %s is as expected', (terminal, format, expected) => {
    process.stdout.isTTY = terminal;
    const write = vi.spyOn(process.stdout, 'write').mockReturnValue(true);
    createLogger('info', undefined, format).info('hello');
    expect(write.mock.calls.map(([text]) => text).join('')).toMatch(expected);
  });
});
