import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { LockedRows, rowKey } from '../../src/resources/locks/locked-rows.js';

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['performance'] });
});

afterEach(() => {
  vi.useRealTimers();
});

describe('a row that another transaction held', () => {
  it('counts as locked for 10 s after it was held last', () => {
    const rows = new LockedRows();
    rows.add('tools.id 1');
    vi.advanceTimersByTime(9_000);
    rows.add('tools.id 1');
    vi.advanceTimersByTime(9_000);
    expect([rows.has('tools.id 1'), rows.has('tools.id 2')]).toEqual([true, false]);
    vi.advanceTimersByTime(1_001);
    expect(rows.has('tools.id 1')).toBe(false);
    expect(rows.size).toBe(0);
  });

  it('is forgotten when it is found free', () => {
    const rows = new LockedRows();
    rows.add('tools.id 1');
    rows.delete('tools.id 1');
    expect(rows.has('tools.id 1')).toBe(false);
  });

  it('is forgotten when many others were held later', () => {
    const rows = new LockedRows();
    for (let id = 0; id <= 10_000; id += 1) rows.add(`tools.id ${id}`);
    expect([rows.has('tools.id 0'), rows.has('tools.id 1')]).toEqual([false, true]);
    expect(rows.size).toBe(10_000);
  });
});

describe('the key of a row', () => {
  const rows = { table: 'tools', key: 'name' };

  it('is short, however long the value is', () => {
    expect(rowKey(rows, 'x'.repeat(1_000_000)).length).toBeLessThan(100);
  });

  it('differs with the value', () => {
    const values = ['', 'x', 'x'.repeat(64), 'x'.repeat(65), 'x'.repeat(66), 1n];
    expect(new Set(values.map((value) => rowKey(rows, value))).size).toBe(values.length);
  });
});
