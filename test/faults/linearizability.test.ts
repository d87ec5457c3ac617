import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect } from 'vitest';
import { it } from '../support/deployment.js';
import { buildChecker, check } from '../support/linearizability.js';
import type { Operation } from '../support/linearizability.js';
import { Rivals } from '../support/rivals.js';

/** Requests that are answered, at least. */
const REQUESTS = 12_000;

/** How often each replica, PostgreSQL and a backend of it are killed. */
const ROUNDS = 4;

// Downloads a module.
beforeAll(buildChecker, 120_000);

describe('two replicas', () => {
  it(
    'are linearizable while they and PostgreSQL are killed',
    { timeout: 600_000 },
    async ({ postgres, replicas }) => {
      const faults = [
        ...replicas.map((replica) => async () => {
          await replica.kill();
          await replica.startAgain();
        }),
        async () => {
          process.kill(postgres.pid, 'SIGKILL');
          await postgres.startAgain();
        },
        // PostgreSQL then ends all backends, and recovers.
        async () => {
          await postgres.killBackend();
          await postgres.accepting();
        },
      ];
      const rivals = new Rivals(replicas.map(({ url }) => url));
      const between = REQUESTS / (ROUNDS * faults.length + 1);
      for (let round = 0; round < ROUNDS; round += 1) {
        for (const fault of faults) {
          await rivals.served(between);
          await fault();
        }
      }
      await rivals.served(between);
      const history = await rivals.stop();

      const { isLinearizable, report } = await check(
        history.map((operation) => `${JSON.stringify(operation)}\n`).join(''),
      );
      if (!isLinearizable) expect.fail(report);
      expect(rivals.answered).toBeGreaterThanOrEqual(REQUESTS);
      const answered = history.filter((operation) => operation.return !== undefined);
      expect([...new Set(answered.map(inWords))].toSorted()).toEqual(EVERYTHING);
      // Changes were cut off in the middle.
      expect(history.length - answered.length).toBeGreaterThan(100);
      for (const { service } of replicas) {
        expect(service.running).toBe(true);
        expect(service.stderr).toBe('');
      }
    },
  );
});

/** What the clients asked and were answered. */
const EVERYTHING = [
  'create: 200',
  'create: 40009',
  'list: 200',
  'list: 40401',
  ...['look-up: 200', 'look-up: 40401', 'replace: 200', 'replace: 40401'].flatMap(conditional),
  ...['patch: 200', 'patch: 40401', 'remove: 204', 'remove: 40401'].flatMap(conditional),
  ...['look-up', 'replace', 'patch', 'remove'].map((kind) => `${kind}: 41200 if the same`),
].toSorted();

function conditional(answer: string): string[] {
  return [answer, `${answer} if any`, `${answer} if the same`];
}

function inWords({ kind, ifMatch, outcome = 0 }: Operation): string {
  if (ifMatch === undefined) return `${kind}: ${outcome}`;
  return `${kind}: ${outcome} if ${ifMatch === '*' ? 'any' : 'the same'}`;
}

describe('the checker', () => {
  let folder: string;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'plant-store-linearizability-'));
  });

  afterAll(async () => {
    await rm(folder, { recursive: true });
  });

  const checkFile = async (name: string) =>
    check(await readFile(`test/linearizability/histories/${name}.ndjson`, 'utf8'), folder);

  it('accepts what the interface promises, and operations of unknown outcome', async () => {
    expect(await checkFile('linearizable')).toEqual({
      isLinearizable: true,
      report: '16 operations checked, 0 ids are not linearizable\n',
    });
  });

  it.each([
    // Someone reads what was replaced before.
    ['stale-read', 'look-up → 200 {n0}'],
    // Of two patches at once, one undoes the other.
    ['lost-update', 'patch tag=x2 → 200 {n0, x2}'],
    // Two requests with the same entity tag succeed.
    ['two-winners', 'replace name=x2 if it is {n0} → 200 {x2}'],
    // A plant whose create was answered is gone.
    ['lost-row', 'list → 40401'],
    // A change of unknown outcome is seen, and then is not.
    ['undone', 'look-up → 200 {n0}'],
    // A create that is sent again is refused although no other plant ever had its id.
    ['refused-replay', 'create name=n0 → 40009'],
  ])('refuses %s, and shows where', async (name, culprit) => {
    const { isLinearizable, report } = await checkFile(name);
    expect(isLinearizable).toBe(false);
    expect(report.split('\n')[2]).toMatch(culprit);
    for (const [file] of report.matchAll(/\/\S+1\.(txt|html|ndjson)/g)) {
      expect(existsSync(file)).toBe(true);
    }
    const again = await check(await readFile(join(folder, '1.ndjson'), 'utf8'), folder);
    expect(again.report).toBe(report);
  });

  it('refuses an entity tag that two plants have', async () => {
    const { isLinearizable, report } = await checkFile('shared-tag');
    expect(isLinearizable).toBe(false);
    expect(report).toMatch('{n0} and {x1} have the entity tag "A"');
  });
});
