import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it, vi } from 'vitest';
import { MissingChanges } from '../../changes/src/index.js';
import type { Feed, RecordedChange } from '../../changes/src/index.js';
import { ERRORS, ServiceException } from '../../framework/src/index.js';
import { failingSince, RETRIES } from '../src/delivery/retries.js';
import { SharedReads } from '../src/delivery/shared-reads.js';
import { Turn, TURN } from '../src/delivery/turn.js';
import type { TurnParts } from '../src/delivery/turn.js';
import { KEPT_DELIVERIES } from '../src/delivery/webhook-rows.js';
import type { ClaimedWebhook } from '../src/delivery/webhook-rows.js';

const NOW = Date.parse('2026-11-28T10:00:00.000Z');

const change = (position: number, content = {}): RecordedChange => ({
  position: BigInt(position),
  time: new Date(NOW + position),
  kind: 'created',
  id: BigInt(position),
  content: { id: BigInt(position), ...content },
  principal: { kind: 'system', id: 'test' },
  requestId: 'test',
});

const WEBHOOK: ClaimedWebhook = {
  id: 'w',
  url: 'https://example.com',
  secrets: [],
  kinds: [],
  resources: [],
  positions: { tool: '1', loan: '1' },
  failing: null,
};

const FAILING = { attempts: 2, since: NOW - 1 };

/** The changes of tools have the positions 2 and 3, and the change of a loan has 5. */
function turnOf(
  parts: Partial<TurnParts> = {},
  webhook: Partial<ClaimedWebhook> = {},
  newest = '3',
) {
  const all = { tool: [change(2), change(3)], loan: [change(5)] };
  const send = vi.fn<TurnParts['send']>(() => Promise.resolve({ kind: 'delivered', status: 200 }));
  const feeds = {
    next: (resource: string, position: bigint) =>
      Promise.resolve(all[resource as keyof typeof all].filter((each) => each.position > position)),
  };
  const pace = () => Promise.resolve();
  const usual = { feeds, pace, isLeased: () => true, send, count: () => {}, now: () => NOW };
  const latest = { tool: newest, loan: '5' };
  const turn = new Turn({ ...WEBHOOK, ...webhook }, latest, 'quick', { ...usual, ...parts });
  return { turn, send };
}

const hanging: TurnParts['send'] = (_, _message, signal) =>
  new Promise((_resolve, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason as Error));
  });

describe('a turn', () => {
  it('catches up with each resource', async () => {
    const { turn, send } = turnOf();
    const served = await turn.run();
    expect(served.positions).toEqual({ tool: '3', loan: '5' });
    expect(served.attempts.map(({ message_id: id }) => id)).toEqual(['tool_2', 'tool_3', 'loan_5']);
    const types = send.mock.calls.map(([, { type }]) => type);
    expect(types).toEqual(['tool.created', 'tool.created', 'loan.created']);
  });

  it('begins with the oldest change, and sends some of each resource in turn', async () => {
    const all = { tool: [change(2), change(4), change(6)], loan: [change(1), change(5)] };
    const feeds = {
      next: (resource: string, position: bigint) =>
        Promise.resolve(
          all[resource as keyof typeof all].filter((each) => each.position > position).slice(0, 1),
        ),
    };
    const { turn } = turnOf({ feeds }, { positions: { tool: '0', loan: '0' } }, '6');
    const { attempts, positions } = await turn.run();
    const sent = attempts.map(({ message_id: id }) => id);
    expect(sent).toEqual(['loan_1', 'tool_2', 'loan_5', 'tool_4', 'tool_6']);
    expect(positions).toEqual({ tool: '6', loan: '5' });
  });

  it('is paused by one resource after it has sent changes of the others', async () => {
    const pruned = new MissingChanges('pruned', 'pruned: copy everything');
    const next = (resource: string) =>
      resource === 'tool' ? Promise.reject(pruned) : Promise.resolve([change(5)]);
    const { turn } = turnOf({ feeds: { next } });
    expect(await turn.run()).toMatchObject({
      positions: { loan: '5' },
      pausedReason: 'changes-pruned',
      lastError: 'pruned',
    });
    const slow = turnOf({ feeds: { next } }, {}, '3');
    const age = vi.spyOn(slow.turn, 'age', 'get').mockReturnValue(TURN.quick + 1);
    expect(await slow.turn.run()).toMatchObject({ pausedReason: 'changes-pruned' });
    age.mockRestore();
  });

  it('is over after its time also if it has sent nothing', async () => {
    const { turn, send } = turnOf({}, { kinds: ['removed'] });
    const age = vi.spyOn(turn, 'age', 'get').mockReturnValue(TURN.quick + 1);
    expect((await turn.run()).positions).toEqual({ tool: '3' });
    expect(send).not.toHaveBeenCalled();
    age.mockRestore();
  });

  it('passes over nothing if a read is older than the newest position', async () => {
    const { turn, send } = turnOf({ feeds: { next: () => Promise.resolve([]) } });
    expect((await turn.run()).positions).toEqual({});
    expect(send).not.toHaveBeenCalled();
  });

  it('leaves later changes to the next turn, which can have other kinds', async () => {
    const { turn, send } = turnOf({}, { kinds: ['removed'] }, '2');
    expect((await turn.run()).positions).toEqual({ tool: '2', loan: '5' });
    expect(send).not.toHaveBeenCalled();
    // A server that has taken over can lack all changes up to the newest position.
    const other = turnOf({ feeds: { next: () => Promise.resolve([change(9)]) } }).turn;
    expect((await other.run()).positions).toEqual({});
  });

  it('begins with the newest change of a resource that is new', async () => {
    const { turn, send } = turnOf({}, { positions: {} });
    expect((await turn.run()).positions).toEqual({ tool: '3', loan: '5' });
    expect(send).not.toHaveBeenCalled();
  });

  it('passes over the resources that the webhook does not want', async () => {
    const { turn } = turnOf({}, { resources: ['loan'] });
    expect((await turn.run()).positions).toEqual({ loan: '5' });
  });

  it('leaves a position as it is that another replica has moved beyond the newest', async () => {
    const { turn } = turnOf({}, { positions: { tool: '3', loan: '7' } });
    expect((await turn.run()).positions).toEqual({});
  });

  it('ends when it is stopped, and counts nothing', async () => {
    const { turn } = turnOf({ send: hanging }, { failing: FAILING });
    const running = turn.run();
    await sleep(1);
    turn.stop();
    expect(await running).toEqual({
      positions: {},
      attempts: [],
      failing: { ...FAILING, nextAttemptAt: undefined },
      waitingSince: new Date(NOW + 2),
    });
    expect(turn.error).toBeUndefined();
  });

  it('sends no more when another replica can have the lease', async () => {
    let isLeased = true;
    const send = vi.fn<TurnParts['send']>(() => {
      isLeased = false;
      return Promise.resolve({ kind: 'delivered', status: 200 });
    });
    const { turn } = turnOf({ send, isLeased: () => isLeased });
    expect((await turn.run()).positions).toEqual({ tool: '2' });
    expect(send).toHaveBeenCalledTimes(1);
  });

  it('lets no message be written that still had no connection when the lease ended', async () => {
    let isLeased = true;
    const send: TurnParts['send'] = (_, _message, signal, beforeWrite) => {
      isLeased = false;
      beforeWrite();
      return signal.aborted
        ? Promise.reject(signal.reason as Error)
        : Promise.resolve({ kind: 'delivered', status: 200 });
    };
    const { turn } = turnOf({ send, isLeased: () => isLeased });
    expect(await turn.run()).toMatchObject({ positions: {}, attempts: [] });
    expect(turn.error).toBeUndefined();
  });

  it('is slow if an attempt is, not if it has sent for long', async () => {
    const now = vi.spyOn(performance, 'now').mockReturnValue(0);
    const seen: boolean[] = [];
    const { turn } = turnOf({
      send: () => {
        now.mockReturnValue(TURN.quick);
        seen.push(turn.isSlow);
        now.mockReturnValue(TURN.quick + 1);
        seen.push(turn.isSlow);
        return Promise.resolve({ kind: 'delivered', status: 200 });
      },
    });
    await turn.run();
    expect([...seen, turn.isSlow]).toEqual([false, true, false]);
    now.mockRestore();
  });

  it('keeps the last attempts, however many there are', async () => {
    const all = Array.from({ length: 2 * KEPT_DELIVERIES }, (_, at) => change(at + 2));
    const feeds = {
      next: (_: string, position: bigint) => Promise.resolve(all.slice(Number(position) - 1)),
    };
    const webhook = { positions: { tool: '1' }, resources: ['tool'] };
    const { turn } = turnOf({ feeds }, webhook, String(all.at(-1)!.position));
    const { attempts, positions } = await turn.run();
    expect(attempts).toHaveLength(KEPT_DELIVERIES);
    expect(attempts.at(-1)!.message_id).toBe(`tool_${positions['tool']}`);
  });

  it('counts an attempt as failed that is given up', async () => {
    const { turn } = turnOf({ send: hanging });
    const running = turn.run();
    await sleep(1);
    turn.giveUp();
    const { attempts, failing, lastError } = await running;
    expect(attempts).toMatchObject([{ outcome: 'failed', reason: lastError }]);
    expect(failing).toMatchObject({ attempts: 1, since: NOW });
  });

  it('lets others go on when its time is over', async () => {
    const { turn } = turnOf();
    const age = vi.spyOn(turn, 'age', 'get').mockReturnValue(TURN.quick + 1);
    const { positions, waitingSince } = await turn.run();
    expect(positions).toEqual({ tool: '2' });
    expect(waitingSince).toEqual(new Date(NOW + 3));
    age.mockRestore();
    const other = turnOf({}, { positions: { tool: '1', loan: '1' } }).turn;
    other.stop();
    expect((await other.run()).positions).toEqual({});
  });

  it('ends with an error that is none of the webhook', async () => {
    const outage = new ServiceException(ERRORS.databaseUnavailable);
    const { turn } = turnOf({ feeds: { next: () => Promise.reject(outage) } });
    expect(await turn.run()).toMatchObject({ positions: {}, attempts: [] });
    expect(turn.error).toBe(outage);
    const mistake = new Error('a mistake');
    const other = turnOf({ send: () => Promise.reject(mistake) }).turn;
    await other.run();
    expect(other.error).toBe(mistake);
  });

  it('goes on counting the errors of a webhook that fails', async () => {
    const send: TurnParts['send'] = () => Promise.resolve({ kind: 'failed', reason: 'No.' });
    const { failing } = await turnOf({ send }, { failing: FAILING }).turn.run();
    expect(failing).toMatchObject({ attempts: 3, since: FAILING.since });
  });
});

describe('pauses', () => {
  it('grow up to an hour, for three days', () => {
    const pauses = Array.from({ length: 14 }, (_, attempts) => {
      const { nextAttemptAt } = failingSince({ attempts, since: NOW }, NOW);
      return nextAttemptAt! - NOW;
    });
    for (const [at, pause] of pauses.entries()) {
      const longest = Math.min(RETRIES.first * 2 ** at, RETRIES.longest);
      expect(pause).toBeGreaterThanOrEqual(longest / 2);
      expect(pause).toBeLessThanOrEqual(longest);
    }
    const late = { attempts: 80, since: NOW - RETRIES.all };
    expect(failingSince({ ...late, since: late.since + 1 }, NOW).nextAttemptAt).toBe(NOW + 1);
    expect(failingSince(late, NOW).nextAttemptAt).toBeUndefined();
  });

  it('are as long as the receiver asks for, up to an hour', () => {
    expect(failingSince(undefined, NOW, 60_000).nextAttemptAt).toBe(NOW + 60_000);
    expect(failingSince(undefined, NOW, 10 * RETRIES.longest).nextAttemptAt).toBe(
      NOW + RETRIES.longest,
    );
  });
});

describe('reads', () => {
  it('are shared by those who are at one position, until there is nothing', async () => {
    const next = vi.fn<Feed['next']>((position) =>
      Promise.resolve(position === 1n ? [change(2)] : []),
    );
    const reads = new SharedReads({ next } as unknown as Feed);
    const found = await Promise.all([reads.next(1n), reads.next(1n), reads.next(2n)]);
    expect(found.map(({ length }) => length)).toEqual([1, 1, 0]);
    await reads.next(1n);
    await reads.next(2n);
    expect(next.mock.calls.map(([position]) => position)).toEqual([1n, 2n, 2n]);
  });

  it('are forgotten after errors, and when there are many', async () => {
    const next = vi.fn<Feed['next']>((position) =>
      position === 0n ? Promise.reject(new Error('no')) : Promise.resolve([change(2)]),
    );
    const reads = new SharedReads({ next } as unknown as Feed);
    await expect(reads.next(0n)).rejects.toThrow('no');
    await expect(reads.next(0n)).rejects.toThrow('no');
    for (let position = 1n; position < 20n; position += 1n) await reads.next(position);
    await reads.next(1n);
    expect(next).toHaveBeenCalledTimes(22);
  });
});
