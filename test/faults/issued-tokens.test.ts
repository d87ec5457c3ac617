import { tmpdir } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, vi } from 'vitest';
import { Crowd } from '../support/crowd.js';
import { it } from '../support/deployment.js';
import { FaultyLink } from '../support/faulty-link.js';
import { call, issue, tokenProcess } from '../support/issued-tokens.js';
import { idOf } from '../../packages/framework/test/support/tokens.js';
import type { OwnPostgres } from '../support/own-postgres.js';
import { PATIENCE } from '../../packages/framework/test/support/patience.js';
import { CommandProcess } from '../support/plant-store-command.js';
import { until } from '../support/process.js';
import { contradictions, inWords, isServed, tally } from '../support/reckoning.js';
import type { Replica } from '../support/replica.js';
import { Wallet } from '../support/wallet.js';

/** Creates that are served before, between and after the steps. */
const SOME = 300;

/** The id is no number: the guard has accepted the token, and nothing needs the database. */
const ACCEPTED = '400 40004';
const REFUSED = '401 40101';
const EXPIRED = '401 40102';
const UNAVAILABLE = '503 50300';

/** The bounds of docs/tokens.md, in milliseconds. */
const REVOCATION = 10_000;
const OUTAGE = 60_000;
const REFRESH = 5_000;

/** For what happens at a bound under load. */
const SLACK = 2_000;

const NOTICED = { timeout: PATIENCE, interval: 20 };

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

it.beforeEach(({ postgres: server }) => {
  postgres = server;
});

async function run(...args: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await tokenProcess(postgres.url, ...args);
  if (code !== 0) throw new Error(`plant-store token ${args.join(' ')}: ${code} ${stderr}`);
  return stdout.trim();
}

const create = (...args: readonly string[]) => run('create', '--name', 'test', ...args);

const probe = (replica: Replica) => `${replica.url}/x`;

const watch = (token: string) => replicas.map((replica) => new TokenWatch(probe(replica), token));

const crowd = (token: () => string) => new Crowd({ urls: replicas.map(({ url }) => url), token });

it('refuses a revoked token within 10 s, and an expired one from its second, on both replicas', async ({
  replicas: both,
}) => {
  replicas = both;
  const lasting = await create();
  const clients = crowd(() => lasting);
  await clients.served(SOME);

  const [revoked, expiring] = await Promise.all([create(), create('--expires', '12s')]);
  const expiry = await timeOf('expires_at', expiring);
  const [revocation, expiration] = [watch(revoked), watch(expiring)];
  // The first answers wait for the register, which may read the table later than a quick command revokes the token.
  await Promise.all(
    [...revocation, ...expiration].map((watched) => watched.answeredSince(0, PATIENCE)),
  );
  await clients.served(SOME);
  const begin = Date.now();
  await run('revoke', idOf(revoked));
  const end = Date.now();
  await Promise.all([
    ...revocation.map((watched) => watched.answeredSince(end + REVOCATION, PATIENCE)),
    ...expiration.map((watched) => watched.answeredSince(expiry + 1_000, PATIENCE)),
  ]);

  for (const watched of revocation) {
    const answers = await watched.stop();
    expect(courseOf(answers)).toEqual([ACCEPTED, REFUSED]);
    const refusedAt = answers.find(({ answer }) => answer === REFUSED)!;
    expect(refusedAt.done).toBeGreaterThan(begin);
    expect(refusedAt.sent).toBeLessThan(end + REVOCATION);
  }
  for (const watched of expiration) {
    const answers = await watched.stop();
    expect(courseOf(answers)).toEqual([ACCEPTED, EXPIRED]);
    expectExpiry(answers, expiry);
  }
  await clients.served(SOME);
  const attempts = await clients.stop();
  expect(attempts.filter((attempt) => !isServed(attempt)).map(inWords)).toEqual([]);
  expect(tally(attempts)).not.toHaveProperty('40101');
  expect(contradictions(attempts, await postgres.plants())).toEqual([]);
});

it('rotates a token, while a replica is killed, without a 401 for clients that change over', async ({
  replicas: both,
}) => {
  replicas = both;
  const old = await create();
  const wallet = new Wallet(old);
  const clients = crowd(wallet.next);
  await clients.served(SOME);

  const [first, second] = replicas;
  const watches = [new TokenWatch(probe(first), old)];
  const rotating = run('rotate', idOf(old), '--grace', '20s');
  await clients.served(SOME);
  const current = await rotating;
  const expiry = await timeOf('previous_expires_at', old);
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

it('accepts tokens for 60 s without the database, and then answers 503 until it is back', async ({
  start,
}) => {
  const link = await FaultyLink.to(postgres.url);
  try {
    const environment = { DATABASE_URL: link.url };
    replicas = [await start(environment), await start(environment)];
    const [token, expiring] = await Promise.all([create(), create('--expires', '30s')]);
    await expectAnswer(ACCEPTED, [token, expiring]);
    const watches = watch(token);
    const down = Date.now();
    link.poison({ kind: 'down' });
    await Promise.all(
      watches.map((watched) => watched.answeredSince(down + OUTAGE + SLACK, OUTAGE + 30_000)),
    );
    await expectAnswer(EXPIRED, [expiring]);
    link.cure();
    await vi.waitFor(() => expectAnswer(ACCEPTED, [token]), NOTICED);
    for (const watched of watches) {
      const answers = await watched.stop();
      expect(courseOf(answers)).toEqual([ACCEPTED, UNAVAILABLE, ACCEPTED]);
      const first = answers.find(({ answer }) => answer === UNAVAILABLE)!;
      // The last reading was up to 5 s before the outage.
      expect(first.done).toBeGreaterThan(down + OUTAGE - REFRESH - SLACK);
      expect(first.sent).toBeLessThan(down + OUTAGE + SLACK);
    }
  } finally {
    await link.close();
  }
});

it('leaves a usable token or none, whenever its creation is killed', async ({ replicas: both }) => {
  replicas = both;
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
  await expectAnswer(ACCEPTED, [...tokens, await create()]);
});

it('leaves the secret that clients have usable, whenever a rotation is killed', async ({
  replicas: both,
}) => {
  replicas = both;
  const tokens: string[] = [];
  const rotation = async () => {
    const token = await issue(postgres.url, 'create', '--name', 'test');
    tokens.push(token);
    return ['rotate', idOf(token)] as const;
  };
  await killDuringStatement(await rotation());
  await killDuringCommit(await rotation());
  await killAtMoments(rotation);
  await expectAnswer(ACCEPTED, tokens);
  const rotated = await Promise.all(
    tokens.map((token) => issue(postgres.url, 'rotate', idOf(token), '--end-grace')),
  );
  await expectAnswer(ACCEPTED, rotated);
});

async function timeOf(column: string, token: string): Promise<number> {
  const [row] = await postgres.query(
    `SELECT ${column} AS time FROM access_tokens WHERE id = '${idOf(token)}'`,
  );
  return (row!['time'] as Date).getTime();
}

function expectExpiry(answers: readonly WatchedAnswer[], expiry: number): void {
  const [before, after] = [
    answers.filter(({ done }) => done < expiry),
    answers.filter(({ sent }) => sent >= expiry),
  ];
  expect(before.filter(({ answer }) => answer !== ACCEPTED)).toEqual([]);
  expect(after.filter(({ answer }) => answer !== EXPIRED)).toEqual([]);
}

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

/** Of both replicas, for each of the tokens. */
async function expectAnswer(answer: string, tokens: readonly string[]): Promise<void> {
  const urls = replicas.map(probe);
  const answers = await Promise.all(tokens.flatMap((token) => urls.map((url) => call(url, token))));
  expect([...new Set(answers)]).toEqual([answer]);
}

/** An answer, as `call` shows it. Times of `Date.now()`. */
interface WatchedAnswer {
  readonly sent: number;
  readonly done: number;
  readonly answer: string;
}

/** Uses a token at a replica, again and again, and records the answers. */
class TokenWatch {
  readonly answers: WatchedAnswer[] = [];
  private ended = false;
  private readonly watching: Promise<void>;

  /** @param url of an operation whose answer tells whether the token is accepted */
  constructor(url: string, token: string) {
    this.watching = this.run(url, token);
    // Reported by `stop`.
    this.watching.catch(() => {});
  }

  /** Waits for an answer to a request that was sent at this time or later. */
  async answeredSince(time: number, bound: number): Promise<void> {
    if (await until(() => (this.answers.at(-1)?.sent ?? -Infinity) >= time, bound)) return;
    await this.stop();
    throw new Error(`no answer after ${bound} ms`);
  }

  async stop(): Promise<readonly WatchedAnswer[]> {
    this.ended = true;
    await this.watching;
    return this.answers;
  }

  private async run(url: string, token: string): Promise<void> {
    while (!this.ended) {
      const sent = Date.now();
      const answer = await call(url, token);
      this.answers.push({ sent, done: Date.now(), answer });
    }
  }
}

/** The different answers that have been given, in this order, such as `['200', '401 40101']`. */
function courseOf(answers: readonly WatchedAnswer[]): string[] {
  return answers
    .map(({ answer }) => answer)
    .filter((answer, i) => answer !== answers[i - 1]?.answer);
}
