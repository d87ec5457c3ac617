import { Writable } from 'node:stream';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { Progress } from '../src/progress.js';

beforeEach(() => {
  vi.useFakeTimers();
});

afterEach(() => {
  vi.useRealTimers();
});

function terminal(columns: number) {
  let text = '';
  const stream = new Writable({
    write: (chunk: Buffer, _encoding, done) => {
      text += chunk.toString();
      done();
    },
  });
  return {
    stderr: Object.assign(stream, { isTTY: true, columns }),
    /** What stands in the last line. */
    line: () => text.split('\r\u001B[2K').at(-1),
    all: () => text,
  };
}

it('shows the share, the tools, their rate and the time left', () => {
  const { stderr, line } = terminal(120);
  const progress = new Progress(stderr, 'tools', 1_000);
  vi.advanceTimersByTime(100);
  expect(line()).toBe('[........................] 0 %  0 tools  0/s');
  vi.advanceTimersByTime(9_900);
  progress.rows = 5_000;
  progress.bytes = 125;
  vi.advanceTimersByTime(10_000);
  expect(line()).toBe('[###.....................] 12 %  5000 tools  250/s  2:20 left');
  progress.bytes = 1_000;
  vi.advanceTimersByTime(100);
  expect(line()).toBe('[########################] 100 %  5000 tools  249/s  0:00 left');
  progress.stop();
  expect(line()).toBe('');
  expect(vi.getTimerCount()).toBe(0);
});

it('moves evenly, although the bytes of a request count all at once', () => {
  const { stderr, line } = terminal(120);
  const progress = new Progress(stderr, 'tools', 1_000);
  progress.bytes = 500;
  const shares = Array.from({ length: 4 }, () => {
    vi.advanceTimersByTime(100);
    return /\d+ %/.exec(line() ?? '')?.[0];
  });
  progress.stop();
  expect(shares).toEqual(['5 %', '9 %', '13 %', '17 %']);
});

it('shows no share of what has no known length, and assumes 80 columns where the terminal does not know', () => {
  const { stderr, line } = terminal(0);
  const progress = new Progress(stderr, 'tools');
  progress.rows = 20;
  vi.advanceTimersByTime(2_000);
  expect(line()).toBe('20 tools  10/s');
  progress.stop();
});

it('is never as wide as the terminal, and gives way to messages', () => {
  const { stderr, line, all } = terminal(20);
  const progress = new Progress(stderr, 'tools', 0);
  vi.advanceTimersByTime(100);
  expect(line()).toBe('[##################');
  progress.print('a message');
  expect(line()).toBe('a message\n');
  progress.stop();
  // Only the movement of the cursor, no colour: https://no-color.org
  // oxlint-disable-next-line no-control-regex
  expect(all().replaceAll('\u001B[2K', '')).not.toContain('\u001B');
});
