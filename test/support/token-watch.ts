import { call } from './issued-tokens.js';
import { until } from './process.js';

/** An answer, as `call` shows it. Times of `Date.now()`. */
export interface WatchedAnswer {
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
    }
  }
}

/** The different answers that have been given, in this order, such as `['200', '401 40101']`. */
export function courseOf(answers: readonly WatchedAnswer[]): string[] {
  return answers
    .map(({ answer }) => answer)
    .filter((answer, i) => answer !== answers[i - 1]?.answer);
}
