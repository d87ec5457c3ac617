import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it, vi } from 'vitest';
import { Crowd } from '../support/crowd.js';
import { Workspace } from '../support/process.js';
import { isRefusedFor503, isServed, tally } from '../support/reckoning.js';
import type { Attempt } from '../support/reckoning.js';
import { Replica } from '../support/replica.js';
import { expectReckoning } from '../support/verdicts.js';
import { PatroniCluster } from './cluster.js';
import { FreshClients } from './fresh-clients.js';
import type { Write } from './fresh-clients.js';
import type { Node } from './node.js';

/** A write that takes longer, in milliseconds, counts as interrupted. */
const INTERRUPTION = 2_000;

/** Milliseconds without an interruption until the cluster counts as healed: longer than any answer takes. */
const CALM = 10_000;

/** Milliseconds for which a leader holds its lock, by Patroni's default. */
const TTL = 30_000;

/** Seconds that the service may need more than a client that connects anew. */
const BEHIND = 10;

const table: string[] = [];
let cluster: PatroniCluster;
let workspace: Workspace;
let replica: Replica;
let crowd: Crowd;
let freshClients: FreshClients;

beforeAll(async () => {
  cluster = await PatroniCluster.start();
  await cluster.query(FreshClients.TABLE);
  workspace = await Workspace.create();
  // One process for all scenarios: it never needs a restart.
  replica = await Replica.start(workspace, { DATABASE_URL: cluster.url });
});

afterAll(async () => {
  if (cluster !== undefined) {
    const head = [
      'scenario',
      'fresh client, s',
      'service, s',
      'longest answer, s',
      'answers 200',
      'answers 503',
    ];
    const lines = [rowOf(head), rowOf(head.map(() => '---')), ...table];
    console.log([await cluster.versions(), '', ...lines].join('\n'));
  }
  await workspace?.remove();
  await cluster?.stop();
});

beforeEach(async () => {
  await cluster.repair();
  await vi.waitFor(() => cluster.query('TRUNCATE plants'), { timeout: 20_000 });
  crowd = new Crowd({ urls: [replica.url], clients: 8, readsBack: true, pause: 20 });
  freshClients = new FreshClients(cluster.url);
  await crowd.served(300);
});

afterEach(async () => {
  await freshClients.stop();
  await crowd.stop();
});

it.each(['first', 'second', 'third'])('survives a %s switchover', (round) =>
  expectSurvival(`${round} switchover`, () => cluster.switchOver()),
);

it('survives kill -9 of the leader', () =>
  expectSurvival('kill -9 of Patroni and the postmaster of the leader', async (leader) => {
    leader.killPatroni();
    await leader.killPostmaster();
    await cluster.replaced('leader', leader);
  }));

it("survives the loss of the leader's node", () =>
  expectSurvival("the leader's node is lost", async (leader) => {
    leader.signal('SIGKILL');
    await cluster.replaced('leader', leader);
  }));

it("survives the loss of the synchronous standby's node", () =>
  expectSurvival("the synchronous standby's node is lost", async () => {
    const standby = await cluster.synchronousStandby();
    standby.signal('SIGKILL');
    await cluster.replaced('sync_standby', standby);
  }));

it('survives a frozen leader, which continues later', () =>
  expectSurvival("the leader's node is frozen", async (leader) => {
    leader.signal('SIGSTOP');
    await cluster.replaced('leader', leader);
  }));

it('is not interrupted when etcd is away, in failsafe mode', async () => {
  await expectSurvival('etcd is away, failsafe mode', async () => {
    for (const node of cluster.nodes) node.killEtcd();
    // Without failsafe mode, the leader would step down meanwhile.
    await sleep(TTL + 15_000);
  });
  expect(crowd.attempts.filter((attempt) => !isServed(attempt))).toEqual([]);
});

it('survives an absence of etcd without failsafe mode', async () => {
  await cluster.configure({ failsafe_mode: false });
  await expectSurvival('etcd is away, no failsafe mode (from its return)', async () => {
    for (const node of cluster.nodes) node.killEtcd();
    await cluster.leaderless();
    const returned = performance.now();
    for (const node of cluster.nodes) await node.start(cluster.nodes);
    await vi.waitFor(() => cluster.leader(), { timeout: 60_000, interval: 100 });
    return returned;
  });
});

/**
 * Strikes the cluster under load, waits until it has healed, repairs it, and compares the answers with the stored plants.
 *
 * @param strike returns the time from which healing counts, if that is not its own beginning
 */
async function expectSurvival(
  scenario: string,
  strike: (leader: Node) => Promise<number | void>,
): Promise<void> {
  const leader = await cluster.leader();
  const begin = performance.now();
  const from = (await strike(leader)) ?? begin;
  const writes = () => [freshClients.writes, crowd.attempts.map(asWrite)];
  await vi.waitFor(
    () => {
      for (const ofKind of writes()) {
        const recent = ofKind.filter((write) => endOf(write) > performance.now() - CALM);
        expect(recent.length).toBeGreaterThan(10);
        expect(recent.filter(isInterrupted)).toEqual([]);
      }
    },
    { timeout: 90_000, interval: 500 },
  );
  const healing = writes().map((ofKind) => secondsToHeal(ofKind, from));
  // A frozen leader wakes up under load, too.
  await cluster.repair();
  await crowd.served(300);
  await freshClients.stop();
  await expectReckoning(crowd, cluster, replica);
  expect(crowd.misreadings).toEqual([]);
  const { attempts } = crowd;
  const counts = tally(attempts);
  expect(counts).not.toHaveProperty('lost');

  const longest = Math.max(...attempts.map(({ took }) => took / 1_000));
  const seconds = [...healing, longest].map((figure) => figure.toFixed(1));
  const refused = attempts.filter(isRefusedFor503).length;
  table.push(rowOf([scenario, ...seconds, counts['200'], refused]));
  const [ofFreshClient = 0, ofService = 0] = healing;
  expect(ofService).toBeLessThan(ofFreshClient + BEHIND);
}

function asWrite(attempt: Attempt): Write {
  const { sentAt, took } = attempt;
  return { sentAt, took, succeeded: isServed(attempt) };
}

/** Until the end of the first write that succeeds after the last interrupted one; 0 if none was interrupted. */
function secondsToHeal(writes: readonly Write[], from: number): number {
  const ordered = writes.toSorted((one, other) => one.sentAt - other.sentAt);
  const last = ordered.findLastIndex((write) => endOf(write) > from && isInterrupted(write));
  return last === -1 ? 0 : (endOf(ordered[last + 1]!) - from) / 1_000;
}

function isInterrupted({ succeeded, took }: Write): boolean {
  return !succeeded || took > INTERRUPTION;
}

function endOf({ sentAt, took }: Write): number {
  return sentAt + took;
}

function rowOf(cells: readonly unknown[]): string {
  return `| ${cells.join(' | ')} |`;
}
