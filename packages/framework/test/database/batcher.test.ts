import fc from 'fast-check';
import { DatabaseError } from 'pg';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { Batcher } from '../../src/database/batcher.js';
import { Rejected } from '../../src/database/waiting-item.js';
import type { BatcherOptions } from '../../src/database/batcher.js';
import {
  RejectedStatementError,
  RowLockedError,
  GroupLockedError,
  noteChangesFunction,
} from '../../src/database/database-error.js';
import { ERRORS } from '../../src/errors/common-errors.js';
import { ServiceException } from '../../src/errors/service.exception.js';
import { NO_TRACER } from '../../src/observability/tracer.js';
import { PATIENCE } from '../support/patience.js';

afterEach(() => {
  vi.restoreAllMocks();
  vi.useRealTimers();
});

const UNAVAILABLE = 'database-unavailable';

type Perform = BatcherOptions<string, string>['perform'];

/** A batcher of texts. By default, each result is the text itself. */
function createBatcher(options: Partial<BatcherOptions<string, string>> = {}) {
  const groups: (readonly string[])[] = [];
  const perform: Perform = options.perform ?? ((items) => Promise.resolve(items));
  const batcher = new Batcher<string, string>({
    lengthOf: (text) => text.length,
    tracer: NO_TRACER,
    ...options,
    perform: (items, isRetry) => {
      groups.push(items);
      return perform(items, isRetry);
    },
  });
  const addAll = (items: readonly string[]) =>
    Promise.allSettled(items.map((item) => batcher.add(item)));
  return { batcher, groups, addAll, sizes: () => groups.map(({ length }) => length) };
}

/** An error of PostgreSQL. */
function refusal(message: string, code: string): DatabaseError {
  return Object.assign(new DatabaseError(message, message.length, 'error'), { code });
}

function texts(count: number): string[] {
  return Array.from({ length: count }, (_, index) => `item ${index}`);
}

function outcomes(settled: readonly PromiseSettledResult<string>[]): string[] {
  return settled.map((one) => {
    if (one.status === 'fulfilled') return one.value;
    const reason: unknown = one.reason;
    return reason instanceof ServiceException ? reason.kind.code : String(reason);
  });
}

/** Blocks groups until they are released. */
function createGate() {
  let open = (): void => {};
  const opened = new Promise<void>((resolve) => (open = resolve));
  const perform = (items: readonly string[]) => opened.then(() => items);
  return { open, perform };
}

/** A clock that only the test moves. */
function createClock() {
  const clock = { now: 0 };
  vi.spyOn(performance, 'now').mockImplementation(() => clock.now);
  return clock;
}

const immediate = () => new Promise<void>((resolve) => setImmediate(resolve));

describe('items that are added together', () => {
  it('are sent in one group, and each gets its own result', async () => {
    const { addAll, groups } = createBatcher({
      perform: (items) => Promise.resolve(items.map((item) => item.toUpperCase())),
    });
    expect(outcomes(await addAll(['a', 'b', 'c']))).toEqual(['A', 'B', 'C']);
    expect(groups).toEqual([['a', 'b', 'c']]);
  });

  it('have one result each in one promise, also those that are rejected or late', async () => {
    vi.useFakeTimers();
    const perform: Perform = async (items) => {
      if (items.includes('bad')) throw refusal('bad', '23514');
      if (items.includes('late')) await new Promise((resolve) => setTimeout(resolve, 10_000));
      return items;
    };
    const added = [[], ['a', 'bad', 'b'], ['late']].map((items) =>
      createBatcher({ perform }).batcher.addAll(items),
    );
    await vi.advanceTimersByTimeAsync(20_000);
    const [none, some, late] = await Promise.all(added);
    expect(none).toEqual([]);
    expect(some).toEqual(['a', new Rejected(refusal('bad', '23514')), 'b']);
    expect(late).toEqual([new Rejected(new ServiceException(ERRORS.databaseTooSlow))]);
  });

  it('are sent in groups of at most 500 items, which double while they are fast', async () => {
    const { addAll, sizes } = createBatcher();
    await addAll(texts(1_000));
    await addAll(texts(1_000));
    expect(sizes().slice(0, 2)).toEqual([32, 32]);
    expect(Math.max(...sizes())).toBe(500);
  });

  it('are sent in groups of at most a million characters, unless a single item is longer', async () => {
    const { addAll, groups } = createBatcher();
    const long = 'x'.repeat(400_000);
    await addAll([long, long, long, 'y'.repeat(2_000_000), 'z']);
    const beginnings = groups.map((group) => group.map((item) => item[0]).join(''));
    expect(beginnings).toEqual(['xx', 'x', 'y', 'z']);
  });

  it('are performed in at most two concurrent groups', async () => {
    const gate = createGate();
    const { addAll, groups } = createBatcher({ perform: gate.perform });
    const all = addAll(texts(100));
    await vi.waitFor(() => expect(groups).toHaveLength(2), PATIENCE);
    gate.open();
    await all;
    expect(groups.length).toBeGreaterThan(2);
  });
});

describe('a group that fails', () => {
  it('because of one item is halved until that item is alone', async () => {
    const { addAll, groups } = createBatcher({
      perform: (items) =>
        items.includes('bad') ? Promise.reject(refusal('bad', '23514')) : Promise.resolve(items),
    });
    const settled = await addAll(['a', 'b', 'bad', 'c', 'd']);
    expect(outcomes(settled)).toEqual(['a', 'b', 'error: bad', 'c', 'd']);
    expect(groups).toEqual([
      ['a', 'b', 'bad', 'c', 'd'],
      ['a', 'b', 'bad'],
      ['a', 'b'],
      ['bad'],
      ['c', 'd'],
    ]);
  });

  it.each([
    ['a SQLSTATE of its own', refusal('bad', '54000')],
    ['a trigger', refusal('bad', 'AB123')],
    ['a value that the driver cannot write', new TypeError('bad')],
  ])('because of one item is halved, also for %s', async (_, failure) => {
    const { addAll, sizes } = createBatcher({
      perform: (items) =>
        items.includes('bad') ? Promise.reject(failure) : Promise.resolve(items),
    });
    const settled = await addAll(['a', 'bad', 'b', 'c']);
    expect(outcomes(settled)).toEqual(['a', String(failure), 'b', 'c']);
    expect(sizes()).toEqual([4, 2, 1, 1, 2]);
  });

  /** Refuses groups with a number that is wanted, like a database that cannot reach the server of some rows. */
  function refusing(isRefused: (item: number) => boolean, state = '08006') {
    return (items: readonly string[]) =>
      items.some((item) => isRefused(Number(/\d+/.exec(item))))
        ? Promise.reject(new RejectedStatementError(state))
        : Promise.resolve(items);
  }

  it.each(['08006', '57P01', '58030', 'XX000'])(
    'for a reason that can concern some of its items is halved: SQLSTATE %s',
    async (state) => {
      const { addAll, sizes } = createBatcher({ perform: refusing((item) => item === 2, state) });
      const [a, b, ...others] = texts(8);
      expect(outcomes(await addAll([a!, b!, ...others]))).toEqual([
        a,
        b,
        UNAVAILABLE,
        ...others.slice(1),
      ]);
      expect(sizes()).toEqual([8, 4, 2, 2, 1, 1, 4]);
    },
  );

  const TRIGGER = `SQL statement "INSERT INTO log"\nPL/pgSQL function check_tool() line 3 at SQL statement`;
  const HISTORY = 'PL/pgSQL function public.begin_tool_changes() line 17 at RAISE';
  const PARAMETERS = `extended query with parameters: $1 = 'PL/pgSQL function'`;
  noteChangesFunction('begin_tool_changes()');
  noteChangesFunction('"begin_Tool changes"()');
  const RAISED = { routine: 'exec_stmt_raise' };

  it.each([
    ['lacks a column', { code: '42703', position: '5' }, 1],
    ['lacks a table', { code: '42P01', position: '5' }, 1],
    ['lacks the unique key of the statement', { code: '42P10' }, 1],
    ['lacks a column that a trigger needs', { code: '42703', where: 'PL/pgSQL function' }, 63],
    ['lacks a privilege that a trigger needs', { code: '42501', where: TRIGGER }, 63],
    ['has a trigger that raises its error', { code: '53100', where: TRIGGER, ...RAISED }, 63],
    [
      'has a trigger that raises its error, told in German',
      { code: '53100', where: 'PL/pgSQL-Funktion check_tool() Zeile 3 bei RAISE', ...RAISED },
      63,
    ],
    [
      'lacks a column that a trigger needs, told in French',
      { code: '42703', where: 'fonction PL/pgSQL check_tool(), ligne 3, à instruction SQL' },
      63,
    ],
    [
      'has a trigger with a name like that of records',
      { code: '53100', where: 'PL/pgSQL function begin_rental() line 3 at RAISE', ...RAISED },
      63,
    ],
    [
      'has no positions left, told in German',
      {
        code: '55000',
        where: 'PL/pgSQL-Funktion begin_tool_changes() Zeile 17 bei RAISE',
        ...RAISED,
      },
      1,
    ],
    [
      'has a trigger in the wrong state, with a name like that of records',
      { code: '55000', where: 'PL/pgSQL function begin_rental() line 3 at RAISE', ...RAISED },
      63,
    ],
    [
      'lacks a privilege that a trigger needs, with a name like that of records',
      {
        code: '42501',
        where: 'PL/pgSQL function x.rental_horizon() line 3 at SQL statement',
      },
      63,
    ],
    [
      'has no positions left for records in capital letters',
      {
        code: '55000',
        where: 'PL/pgSQL function "begin_Tool changes"() line 1 at RAISE',
        ...RAISED,
      },
      1,
    ],
    ['has no place for a row of a trigger', { code: '53100', where: TRIGGER }, 1],
    ['has no positions left', { code: '55000', where: HISTORY, ...RAISED }, 1],
    ['lacks a privilege, and tells parameters', { code: '42501', where: PARAMETERS }, 1],
    ['lacks a table, and tells parameters', { code: '42P01', where: PARAMETERS, position: '5' }, 1],
    ['cannot read a value as a query', { code: '42601' }, 63],
    ['refuses the rows by their policy', { code: '42501', routine: 'ExecWithCheckOptions' }, 63],
  ])('are halved only if a row can be at fault: the database %s', async (_, error, statements) => {
    const { addAll, groups } = createBatcher({
      perform: () => Promise.reject(Object.assign(refusal('bad', ''), error)),
    });
    const settled = await addAll(texts(32));
    expect(settled.every(({ status }) => status === 'rejected')).toBe(true);
    expect(groups).toHaveLength(statements);
  });

  it('for every other item of full groups performs the rest, and shrinks the next groups', async () => {
    let perform = refusing(() => false);
    const { addAll, groups, sizes } = createBatcher({ perform: (items) => perform(items) });
    // Groups grow to 500 items.
    for (let round = 1; round <= 3; round += 1) await addAll(texts(1_000));
    const isOdd = (item: number) => item % 2 === 1;
    perform = refusing(isOdd);
    groups.length = 0;
    await addAll(texts(500));
    // One group of 500 items, with limited halving.
    expect(groups[0]).toHaveLength(500);
    expect(groups.length).toBeLessThanOrEqual(64);

    groups.length = 0;
    const settled = await addAll(texts(500));
    expect(Math.max(...sizes())).toBe(32);
    expect(outcomes(settled)).toEqual(
      texts(500).map((item, index) => (isOdd(index) ? UNAVAILABLE : item)),
    );
  });

  it('for every item costs few statements', async () => {
    const { addAll, groups } = createBatcher({ perform: refusing(() => true) });
    expect(new Set(outcomes(await addAll(texts(32))))).toEqual(new Set([UNAVAILABLE]));
    expect(groups.length).toBeLessThanOrEqual(16);
  });

  it.each([
    ['no item can cause it', refusal('no permission', '42501'), 10, 'error: no permission'],
    ['the database cannot serve anybody', new RejectedStatementError('53100'), 10, UNAVAILABLE],
    ['it was slow', new RejectedStatementError('08006'), 1_500, UNAVAILABLE],
  ])('is not halved if %s', async (_, failure, milliseconds, outcome) => {
    const clock = createClock();
    const { addAll, sizes } = createBatcher({
      perform: () => {
        clock.now += milliseconds;
        return Promise.reject(failure);
      },
    });
    expect(new Set(outcomes(await addAll(texts(30))))).toEqual(new Set([outcome]));
    expect(sizes()).toEqual([30]);
  });

  it('is retried after a wait for the lock of a row, and its parts know it', async () => {
    const clock = createClock();
    const retries: boolean[] = [];
    const { addAll } = createBatcher({
      perform: (items, isRetry) => {
        retries.push(isRetry);
        clock.now += isRetry ? 50 : 1_500;
        if (items.includes('item 5')) return Promise.reject(new RowLockedError());
        return Promise.resolve(items);
      },
    });
    const wanted = texts(8).map((text) => (text === 'item 5' ? 'row-locked' : text));
    expect(outcomes(await addAll(texts(8)))).toEqual(wanted);
    expect(retries).toEqual([false, true, true, true, true, true, true]);
  });

  it('because of a locked row is halved by rows, so that all items of a row are refused at once', async () => {
    const { addAll, groups } = createBatcher({
      keyOf: (item) => item[0],
      perform: (items) =>
        items.some((item) => item.startsWith('b'))
          ? Promise.reject(new RowLockedError())
          : Promise.resolve(items),
    });
    const items = ['b1', 'a1', 'b2', 'c1', 'b3', 'd1', 'b4'];
    expect(outcomes(await addAll(items))).toEqual(
      items.map((item) => (item.startsWith('b') ? 'row-locked' : item)),
    );
    expect(groups).toEqual([
      items,
      ['b1', 'a1', 'b2', 'b3', 'b4'],
      ['b1', 'b2', 'b3', 'b4'],
      ['a1'],
      ['c1', 'd1'],
    ]);
  });

  it('because of locked rows tells the items that have not been performed alone when there are too many', async () => {
    const { addAll } = createBatcher({ perform: () => Promise.reject(new RowLockedError()) });
    const settled = await addAll(texts(32));
    expect(settled[0]).toMatchObject({ reason: expect.any(RowLockedError) as object });
    expect(settled.at(-1)).toMatchObject({ reason: expect.any(GroupLockedError) as object });
  });

  it('because of locked rows does not keep the queue waiting while it is halved', async () => {
    const gate = createGate();
    const { addAll, batcher } = createBatcher({
      perform: async (items, isRetry) => {
        if (isRetry) await gate.perform(items);
        if (items.some((item) => item.startsWith('locked'))) throw new RowLockedError();
        return items;
      },
    });
    const halved: Promise<PromiseSettledResult<string>[]>[] = [];
    for (const group of [1, 2]) {
      halved.push(addAll([`locked ${group}`, `free ${group}`]));
      await immediate();
    }
    expect(await batcher.add('next')).toBe('next');
    gate.open();
    expect((await Promise.all(halved)).map(outcomes)).toEqual([
      ['row-locked', 'free 1'],
      ['row-locked', 'free 2'],
    ]);
  });

  it('for the lock of the whole table is not halved, and refuses others at once', async () => {
    let isLocked = true;
    const gates = [createGate(), createGate()];
    const { addAll, batcher, groups } = createBatcher({
      perform: async (items) => {
        if (!isLocked) return items;
        // The first group fails at once.
        if (groups.length > 1) await gates[groups.length - 2]!.perform(items);
        throw new RejectedStatementError('55P03');
      },
    });
    expect(new Set(outcomes(await addAll(texts(8))))).toEqual(new Set(['row-locked']));
    expect(groups).toHaveLength(1);
    const first = addAll(texts(2));
    await immediate();
    const second = addAll(texts(2));
    await immediate();
    expect(groups).toHaveLength(3);
    await expect(batcher.add('late')).rejects.toMatchObject({ kind: ERRORS.overloaded });
    isLocked = false;
    for (const gate of gates) gate.open();
    await Promise.all([first, second]);
    expect(await batcher.add('again')).toBe('again');
  });

  it('is given up when the database becomes unavailable during the halving', async () => {
    const { addAll, sizes } = createBatcher({
      perform: (items) =>
        Promise.reject(
          items.length === 8
            ? refusal('bad', '22001')
            : new ServiceException(ERRORS.databaseUnavailable),
        ),
    });
    expect(new Set(outcomes(await addAll(texts(8))))).toEqual(new Set([UNAVAILABLE]));
    // The group, and its first half only.
    expect(sizes()).toEqual([8, 4]);
  });

  it.each([
    ['a timeout of the pool', new ServiceException(ERRORS.poolExhausted), 'pool-exhausted'],
    ['a deadlock', new RejectedStatementError('40P01'), 'transaction-conflict'],
  ])('keeps its size after %s', async (_, failure, code) => {
    const clock = createClock();
    const { addAll, sizes } = createBatcher({
      perform: () => {
        clock.now += 2_500;
        return Promise.reject(failure);
      },
    });
    for (let round = 1; round <= 3; round += 1) {
      expect(new Set(outcomes(await addAll(texts(32))))).toEqual(new Set([code]));
    }
    expect(sizes()).toEqual([32, 32, 32]);
  });

  it('shrinks after it was slow', async () => {
    const clock = createClock();
    const { addAll, sizes } = createBatcher({
      perform: (items) => {
        clock.now += 2_500;
        return Promise.resolve(items);
      },
    });
    for (let round = 1; round <= 2; round += 1) await addAll(texts(16));
    await addAll(texts(16));
    expect(sizes()).toEqual([16, 16, 8, 8]);
  });
});

describe('a queue', () => {
  it('takes a thousand items, and refuses the next', async () => {
    const gate = createGate();
    const { addAll, batcher, groups } = createBatcher({ perform: gate.perform });
    const first = addAll(texts(64));
    await vi.waitFor(() => expect(groups).toHaveLength(2), PATIENCE);
    const all = addAll(texts(1_000));
    expect(batcher.queue).toMatchObject({ rows: 1_000, maxRows: 1_000 });
    await expect(batcher.add('one more')).rejects.toMatchObject({ kind: ERRORS.overloaded });
    gate.open();
    await first;
    expect(outcomes(await all)).toEqual(texts(1_000));
    expect(batcher.queue).toMatchObject({ rows: 0, characters: 0 });
  });

  it('takes fifty million characters, and one item of any length', async () => {
    const gate = createGate();
    const { addAll, batcher, groups } = createBatcher({
      perform: gate.perform,
      lengthOf: (text) => Number(text),
    });
    const first = addAll(['2000000', '2000000']);
    await vi.waitFor(() => expect(groups).toHaveLength(2), PATIENCE);
    const long = batcher.add('60000000');
    expect(batcher.queue).toMatchObject({ characters: 60_000_000, maxCharacters: 50_000_000 });
    await expect(batcher.add('1')).rejects.toMatchObject({ kind: ERRORS.overloaded });
    gate.open();
    await Promise.all([first, long]);
  });

  it('is empty after all items, whatever lengths they have, and refuses one without a length', async () => {
    const length = fc.oneof(fc.nat(2_000_000), fc.constant(60_000_000), fc.double(), fc.integer());
    const waves = fc.array(fc.array(length, { maxLength: 40 }), { maxLength: 4 });
    const isLength = (text: string) => Number.isSafeInteger(Number(text)) && Number(text) >= 0;
    await fc.assert(
      fc.asyncProperty(waves, async (all) => {
        const { addAll, batcher } = createBatcher({
          lengthOf: Number,
          perform: (items) =>
            items.length % 3 === 2
              ? Promise.reject(refusal('bad', '23514'))
              : Promise.resolve(items),
        });
        for (const wave of all) {
          const items = wave.map(String);
          const settled = await addAll(items);
          expect(batcher.queue).toMatchObject({ rows: 0, characters: 0 });
          for (const [at, item] of items.entries()) {
            if (!isLength(item))
              expect(settled[at]).toMatchObject({ reason: expect.any(TypeError) });
          }
        }
        expect(await batcher.add('7')).toBe('7');
      }),
    );
  });

  it('refuses items after two seconds, and then all items until a group succeeds', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'performance'] });
    const gate = createGate();
    const { addAll, batcher, groups } = createBatcher({ perform: gate.perform });
    const first = addAll(texts(64));
    while (groups.length < 2) await immediate();
    const late = batcher.add('late').catch((error: unknown) => error);
    await immediate();
    vi.advanceTimersByTime(2_100);
    expect(await late).toMatchObject({ kind: ERRORS.overloaded });
    await expect(batcher.add('later')).rejects.toMatchObject({ kind: ERRORS.overloaded });
    gate.open();
    await first;
    expect(await batcher.add('again')).toBe('again');
  });
});

describe('an item', () => {
  it('is refused six seconds after it was added, although its group still runs', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
    const gates = [createGate(), createGate(), createGate()];
    const { batcher, groups } = createBatcher({
      perform: (items) => gates[groups.length - 1]!.perform(items),
    });
    const settled: string[] = [];
    const add = async (item: string) => {
      void batcher.add(item).then(
        () => settled.push(item),
        (error: ServiceException) => settled.push(`${item}: ${error.kind.code}`),
      );
      await immediate();
    };
    const pass = async (milliseconds: number) => {
      vi.advanceTimersByTime(milliseconds);
      await immediate();
    };
    // Both running groups are slow, so further items wait, and then run for long.
    await add('a');
    await add('b');
    await add('early');
    await pass(1_000);
    await add('late');
    await pass(800);
    gates[0]!.open();
    await immediate();
    expect(groups.at(-1)).toEqual(['early', 'late']);
    expect(settled).toEqual(['a']);

    await pass(4_100);
    // After 5.9 s.
    expect(settled).toEqual(['a']);
    await pass(200);
    expect(settled).toEqual(['a', 'b: database-too-slow', 'early: database-too-slow']);
    await pass(700);
    expect(settled).toHaveLength(3);
    gates[2]!.open();
    await immediate();
    expect(settled.at(-1)).toBe('late');
    gates[1]!.open();
    await immediate();
    expect(vi.getTimerCount()).toBe(0);
  });
});
