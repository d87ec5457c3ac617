import { backoff, repeat } from '@resource-service/client/runtime';
import {
  CommandError,
  ContactError,
  EXIT,
  TemporaryFailure,
  Unreachable,
} from '../command-error.js';
import type { Connection } from './connection.js';
import type { Limits } from './limits.js';
import { inSeconds } from '../seconds.js';

const ANNOUNCEMENT_INTERVAL = 10_000;

/** Repeats what fails temporarily, until nothing has succeeded for a while. */
export class Retries {
  /** How many requests were sent again that had a connection before, so that the service may have seen them. */
  repeats = 0;
  private lastSuccess = -Infinity;
  private lastAnnouncement = -Infinity;

  /**
   * @param command its name
   * @param announce is called with a failure, at most every 10 seconds
   */
  constructor(
    private readonly command: string,
    private readonly signal: AbortSignal,
    private readonly announce: (message: string) => void,
    private readonly limits: Limits,
  ) {}

  static of(
    { service, limits }: Connection,
    signal: AbortSignal,
    announce: (message: string) => void,
  ) {
    return new Retries(service.identity.name, signal, announce, limits);
  }

  /**
   * Repeats an attempt until it succeeds.
   *
   * @throws CommandError when no request has succeeded for too long; the error itself unless it is temporary
   */
  run<T>(attempt: () => Promise<T>): Promise<T> {
    const start = performance.now();
    const succeed = async () => {
      const result = await attempt();
      this.lastSuccess = performance.now();
      return result;
    };
    return repeat(
      succeed,
      (error, failures) => this.delayAfter(error, failures, start),
      this.signal,
    );
  }

  /** Reads a response whose reading begins again, where it ended, when it fails. */
  async *resume<T>(read: () => AsyncGenerator<T, void>): AsyncGenerator<T, void> {
    let items = read();
    const next = () =>
      items.next().catch((error: unknown) => {
        items = read();
        throw error;
      });
    try {
      for (;;) {
        const { done, value } = await this.run(next);
        if (done) return;
        yield value;
      }
    } finally {
      await items.return();
    }
  }

  private delayAfter(error: unknown, failures: number, start: number): number {
    this.signal.throwIfAborted();
    if (!(error instanceof TemporaryFailure)) throw error;
    const { firstPause, longestPause } = this.limits;
    const wait = Math.max(error.retryAfter, backoff(failures, firstPause, longestPause));
    this.check(error, Math.max(start, this.lastSuccess), wait);
    this.announceFailure(error, wait);
    if (!(error instanceof Unreachable)) this.repeats += 1;
    return wait;
  }

  /** @throws CommandError if nothing will have succeeded for too long after the wait */
  private check(failure: TemporaryFailure, since: number, wait: number): void {
    const { message, retryAfter } = failure;
    const isFirstContact = failure instanceof Unreachable && failure.isFirstContact;
    const patience = isFirstContact ? this.limits.firstContact : this.limits.patience;
    const passed = performance.now() - since;
    if (passed + wait <= patience) return;
    const gaveUp = `gave up after ${inSeconds(passed)}`;
    const asks = `the service asks to wait ${inSeconds(retryAfter)}`;
    let reason = `${gaveUp} without success`;
    if (isFirstContact) {
      reason = `${gaveUp}: check the address, and whether the service runs`;
    } else if (retryAfter > patience) {
      reason = `gave up: ${asks}, longer than the ${inSeconds(patience)} that the command waits`;
    } else if (retryAfter > 0 && passed + retryAfter > patience) {
      reason += `: ${asks} more, and the command waits ${inSeconds(patience)} in all`;
    }
    const text = `${message}; ${reason}`;
    throw isFirstContact ? new ContactError(text) : new CommandError(EXIT.incomplete, text);
  }

  private announceFailure({ message }: TemporaryFailure, wait: number): void {
    const now = performance.now();
    if (now - this.lastAnnouncement < ANNOUNCEMENT_INTERVAL) return;
    this.lastAnnouncement = now;
    const when = wait < 1_000 ? '' : ` in ${inSeconds(wait)}`;
    this.announce(`${this.command}: ${message}; trying again${when}`);
  }
}
