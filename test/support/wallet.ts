import type { Crowd } from './crowd.js';

/** Creates that are served after each step of a change. */
const SOME = 100;

/** The token of clients that change from one to another, request by request, and meanwhile use both. */
export class Wallet {
  private tokens: readonly [string, string];
  private count = 0;

  constructor(token: string) {
    this.tokens = [token, token];
  }

  readonly next = (): string => {
    this.count += 1;
    return this.tokens[this.count % 2]!;
  };

  /** Begins to use another token for every second request, and then for all. */
  async change(token: string, clients: Crowd): Promise<void> {
    this.tokens = [this.tokens[0], token];
    await clients.served(SOME);
    this.tokens = [token, token];
    await clients.served(SOME);
  }
}
