import { tmpdir } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, vi } from 'vitest';
import { it } from '../support/deployment.js';
import { issue } from '../support/issued-tokens.js';
import { idOf } from '../../packages/framework/test/support/tokens.js';
import type { OwnPostgres } from '../support/own-postgres.js';
import { CommandProcess } from '../support/plant-store-command.js';
import { contradictions, tally } from '../support/reckoning.js';
import type { Replica } from '../support/replica.js';
import {
  ACCEPTED,
  courseOf,
  crowdOf,
  expectAnswer,
  expectExpiry,
  EXPIRED,
  NOTICED,
  probe,
  SOME,
  timeOf,
  tokenRun,
  TokenWatch,
} from '../support/token-watch.js';
import { Wallet } from '../support/wallet.js';

/** When a command is killed, in milliseconds: it takes about half a second. */
const MOMENTS = Array.from({ length: 10 }, (_, i) => 60 * (i + 1));

/** Makes a commit wait for a lock. */
const HELD_COMMIT = `
  CREATE FUNCTION held_commit() RETURNS trigger LANGUAGE plpgsql
    AS 'BEGIN PERFORM pg_advisory_xact_lock(1, 1); RETURN NULL; END';
  CREATE CONSTRAINT TRIGGER held_commit AFTER INSERT OR UPDATE OF secret_hash ON access_tokens
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION held_commit()`;

let postgres: OwnPostgres;
let replicas: readonly [Replica, Replica];

it.beforeEach(({ postgres: server, replicas: both }) => {
  [postgres, replicas] = [server, both];
});

it('rotates a token, while a replica is killed, without a 401 for clients that change over', async () => {
  const old = await tokenRun(postgres, 'create', '--name', 'test');
  const wallet = new Wallet(old);
  const clients = crowdOf(replicas, wallet.next);
  await clients.served(SOME);

  const [first, second] = replicas;
  const watches = [new TokenWatch(probe(first), old)];
  const rotating = tokenRun(postgres, 'rotate', idOf(old), '--grace', '20s');
  await clients.served(SOME);
  const current = await rotating;
  const expiry = await timeOf(postgres, 'previous_expires_at', old);
  const changing = wallet.change(current, clients);
  const lost = clients.outcomes(({ outcome }) => outcome.kind === 'lost', 1);
  await Promise.all([second.kill(), lost, changing]);
  await second.startAgain();
  watches.push(new TokenWatch(probe(second), old));
  await clients.served(SOME);
  await Promise.all(watches.map((watched) => watched.answeredSince(expiry + 1_000, 60_000)));
  await clients.served(SOME);
  const [ofFirst, ofSecond] = await Promise.all(watches.map((watched) => watched.stop()));
  expect(courseOf(ofFirst!)).toEqual([ACCEPTED, EXPIRED]);
  for (const answers of [ofFirst!, ofSecond!]) expectExpiry(answers, expiry);

  const attempts = await clients.stop();
  const kinds = Object.keys(tally(attempts));
  expect(kinds.filter((kind) => !['200', '40003', '40009', 'lost'].includes(kind))).toEqual([]);
  expect(contradictions(attempts, await postgres.plants())).toEqual([]);
});

it('leaves a usable token or none, whenever its creation is killed', async () => {
  const name = (text: string) => ['create', '--name', text] as const;
  await killDuringStatement(name('during the statement'));
  expect(await idsOf('during the statement')).toEqual([]);
  // Nobody has seen the secret, but the token can be rotated.
  await killDuringCommit(name('during the commit'));
  await vi.waitFor(async () => expect(await idsOf('during the commit')).toHaveLength(1), NOTICED);
  await killAtMoments(() => name('at a moment'));
  const ids = [...(await idsOf('during the commit')), ...(await idsOf('at a moment'))];
  expect(ids.length).toBeLessThan(MOMENTS.length + 1);
  const tokens = await Promise.all(ids.map((id) => issue(postgres.url, 'rotate', id)));
  await expectAnswer(ACCEPTED, replicas, [
    ...tokens,
    await issue(postgres.url, 'create', '--name', 'test'),
  ]);
});

it('leaves the secret that clients have usable, whenever a rotation is killed', async () => {
  const tokens: string[] = [];
  const rotation = async () => {
    const token = await issue(postgres.url, 'create', '--name', 'test');
    tokens.push(token);
    return ['rotate', idOf(token)] as const;
  };
  await killDuringStatement(await rotation());
  await killDuringCommit(await rotation());
  await killAtMoments(rotation);
  await expectAnswer(ACCEPTED, replicas, tokens);
  const rotated = await Promise.all(
    tokens.map((token) => issue(postgres.url, 'rotate', idOf(token), '--end-grace')),
  );
  await expectAnswer(ACCEPTED, replicas, rotated);
});

/** While it waits for the table, in its transaction. */
async function killDuringStatement(args: readonly string[]): Promise<void> {
  const holder = await postgres.connect();
  await holder.query('BEGIN; LOCK access_tokens IN SHARE MODE');
  await kill(args, () => haveWaiting(1));
  await holder.end();
  await haveWaiting(0);
}

async function killDuringCommit(args: readonly string[]): Promise<void> {
  await postgres.query(HELD_COMMIT);
  const holder = await postgres.connect();
  await holder.query('SELECT pg_advisory_lock(1, 1)');
  await kill(args, () => haveWaiting(1));
  await holder.end();
  await haveWaiting(0);
  await postgres.query('DROP TRIGGER held_commit ON access_tokens; DROP FUNCTION held_commit()');
}

/** @param argsOf of the next command */
async function killAtMoments(
  argsOf: () => readonly string[] | Promise<readonly string[]>,
): Promise<void> {
  for (const moment of MOMENTS) await kill(await argsOf(), () => sleep(moment));
}

/** Runs the command, and kills it when `moment` has come. */
async function kill(args: readonly string[], moment: () => Promise<unknown>): Promise<void> {
  const env = { DATABASE_URL: postgres.url };
  const { child, result } = new CommandProcess('', ['token', ...args], { env, cwd: tmpdir() });
  await moment();
  child.kill('SIGKILL');
  await result;
}

/** Waits until so many sessions wait for a lock. */
async function haveWaiting(count: number): Promise<void> {
  await vi.waitFor(
    async () =>
      expect(
        await postgres.query(
          "SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND backend_type = 'client backend'",
        ),
      ).toHaveLength(count),
    NOTICED,
  );
}

async function idsOf(name: string): Promise<string[]> {
  const rows = await postgres.query(`SELECT id FROM access_tokens WHERE name = '${name}'`);
  return rows.map(({ id }) => String(id));
}
