import { pino } from 'pino';
import { expect, it, vi } from 'vitest';
import { ERRORS } from '@resource-service/framework';
import type { Principal, Statements } from '@resource-service/framework';
import { Semaphore } from '@resource-service/framework/extension';
import type { EntityColumns } from '@resource-service/framework/extension';
import { ChangeReader } from '../src/feed/change-reader.js';
import { Followers } from '../src/feed/followers.js';

const FORMER = 100n << 16n;
const PRESENT = 70_000n << 16n;
/** The last positions of the former start of the server, and of the present one. */
const [FORMER_END, NEWEST] = [FORMER + 5_000n, PRESENT + 10n];

const PRINCIPAL: Principal = { kind: 'static-token', id: 'AUTH_TOKEN', scopes: 'all' };

/** Which connections a follower reads with. */
async function readsOf(after: bigint): Promise<'far' | 'near'> {
  const slots = new Semaphore(10, ERRORS.tooManyLists);
  const reader = new ChangeReader({
    property: 'tool',
    dto: Object,
    columns: () => ({}) as EntityColumns,
    records: () => ({ table: 't', tableName: 't', key: { name: 'p' } }) as EntityColumns,
    statements: {
      rows: () => Promise.resolve([[String(FORMER_END)]]),
    } as unknown as Statements,
    slots,
    isRecorded: () => true,
    onUnrecorded: () => {},
  });
  const state = {
    lowWatermark: NEWEST,
    newest: NEWEST,
    prunedTo: 0n,
    incarnationStart: PRESENT,
    isBlocked: false,
  };
  vi.spyOn(reader, 'startOf').mockResolvedValue({ ...state, after, isFirst: false });
  vi.spyOn(reader.states, 'read').mockResolvedValue(state);
  const end = new AbortController();
  vi.spyOn(reader.pages, 'read').mockImplementation(() => {
    end.abort();
    return Promise.resolve({ changes: [], isWhole: true });
  });
  const reads = {
    far: new Semaphore(1, ERRORS.poolExhausted),
    near: new Semaphore(1, ERRORS.poolExhausted),
  };
  const used: ('far' | 'near')[] = [];
  for (const kind of ['far', 'near'] as const) {
    const run = reads[kind].run.bind(reads[kind]);
    vi.spyOn(reads[kind], 'run').mockImplementation((task) => {
      used.push(kind);
      return run(task);
    });
  }
  const logger = pino({ level: 'silent' });
  const shutdown = new AbortController().signal;
  const followers = new Followers({ reader, slots, reads, shutdown, logger });
  const events = await followers.follow({ principal: PRINCIPAL, after, signal: end.signal });
  for await (const _ of events);
  return used[0]!;
}

it.each([
  ['misses a few changes of this start of the server', PRESENT + 3n, 'near'],
  ['has missed a few before the last start of the server, and since', FORMER_END - 8n, 'near'],
  ['has missed many before the last start of the server', FORMER + 1n, 'far'],
  ['comes from an earlier start of the server', FORMER - (1n << 20n), 'far'],
] as const)('a follower that %s is as far behind as it misses changes', async (_, after, kind) => {
  expect(await readsOf(after)).toBe(kind);
});
