import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'vitest';
import { idOf } from '../../packages/framework/test/support/tokens.js';
import { PATIENCE } from '../../packages/framework/test/support/patience.js';
import { Crowd, GENTLE } from './crowd.js';
import { call, tokenProcess } from './issued-tokens.js';
import type { OwnPostgres } from './own-postgres.js';
import { until } from './process.js';
import type { Replica } from './replica.js';

/** The id is no number: the guard has accepted the token, and nothing needs the database. */
export const ACCEPTED = '400 40004';
export const REFUSED = '401 40101';
export const EXPIRED = '401 40102';
export const UNAVAILABLE = '503 50300';

/** Creates that are served before, between and after the steps. */
export const SOME = 100;

export const NOTICED = { timeout: PATIENCE, interval: 20 };

/** Milliseconds between an answer and the next request of a {@link TokenWatch}. */
const PAUSE = 10;

export const probe = (replica: Replica) => `${replica.url}/x`;

/** Clients of all replicas. */
export function crowdOf(replicas: readonly Replica[], token: () => string): Crowd {
  return new Crowd({ urls: replicas.map(({ url }) => url), token, pause: GENTLE });
}

/** Runs the built `plant-store token`, and returns what it prints. */
export async function tokenRun(postgres: OwnPostgres, ...args: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await tokenProcess(postgres.url, ...args);
  if (code !== 0) throw new Error(`plant-store token ${args.join(' ')}: ${code} ${stderr}`);
  return stdout.trim();
}

/** Of a column of the row of a token. */
export async function timeOf(
  postgres: OwnPostgres,
  column: string,
  token: string,
): Promise<number> {
  const [row] = await postgres.query(
    `SELECT ${column} AS time FROM access_tokens WHERE id = '${idOf(token)}'`,
  );
  return (row!['time'] as Date).getTime();
}

/** Of each replica, for each of the tokens. */
export async function expectAnswer(
  answer: string,
  replicas: readonly Replica[],
  tokens: readonly string[],
): Promise<void> {
  const urls = replicas.map(probe);
  const answers = await Promise.all(tokens.flatMap((token) => urls.map((url) => call(url, token))));
  expect([...new Set(answers)]).toEqual([answer]);
}

export function expectExpiry(answers: readonly WatchedAnswer[], expiry: number): void {
  const [before, after] = [
    answers.filter(({ done }) => done < expiry),
    answers.filter(({ sent }) => sent >= expiry),
  ];
  expect(before.filter(({ answer }) => answer !== ACCEPTED)).toEqual([]);
  expect(after.filter(({ answer }) => answer !== EXPIRED)).toEqual([]);
}

/** An answer, as `call` shows it. Times of `Date.now()`. */
interface WatchedAnswer {
  readonly sent: number;
  readonly done: number;
  readonly answer: string;
}

/** Uses a token at a replica, again and again, and records the answers. */
export class TokenWatch {
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
      await sleep(PAUSE);
    }
  }
}

/** The different answers that have been given, in this order, such as `['200', '401 40101']`. */
export function courseOf(answers: readonly WatchedAnswer[]): string[] {
  return answers
    .map(({ answer }) => answer)
    .filter((answer, i) => answer !== answers[i - 1]?.answer);
}
