import {
  backoff,
  Connection as Client,
  LONGEST_WAIT,
  repeat,
  ServiceError,
} from '@resource-service/client/runtime';
import type { Call } from '@resource-service/client/runtime';
import {
  CommandError,
  ContactError,
  EXIT,
  reasonOf,
  TemporaryError,
  textOf,
  Unreachable,
} from '../command-error.js';
import type { Connection } from './connection.js';
import { HttpClient } from './http.js';
import { inSeconds } from './limits.js';

export const NDJSON = 'application/x-ndjson';

const ANNOUNCEMENT_INTERVAL = 10_000;

/** Sends requests, and repeats what fails temporarily until nothing has succeeded for a while. */
export class Requests {
  /** How many requests were sent again that had a connection before, so that the service may have seen them. */
  repeats = 0;
  private readonly client: Client;
  private lastSuccess = -Infinity;
  private lastAnnouncement = -Infinity;

  /** @param announce is called with an error, at most every 10 seconds */
  constructor(
    private readonly connection: Connection,
    private readonly signal: AbortSignal,
    private readonly announce: (message: string) => void,
  ) {
    const http = new HttpClient(connection, signal);
    this.client = new Client({
      url: connection.baseUrl,
      token: connection.token,
      fetch: (request) => http.fetch(request),
      // `run` repeats, and `HttpClient` has a timeout of its own.
      retries: 0,
      timeout: LONGEST_WAIT,
    });
  }

  /** Sends a request, and reads the response of status 200, until both succeed. */
  send<T>(call: Omit<Call, 'signal'>, read: (response: Response) => Promise<T>): Promise<T> {
    return this.run(() => this.once(call, read));
  }

  /** Sends a request once, because it may have been carried out although its response is lost. */
  async sendOnce<T>(
    call: Omit<Call, 'signal'>,
    read: (response: Response) => Promise<T>,
  ): Promise<T> {
    try {
      return await this.once(call, read);
    } catch (error) {
      throw this.explained(error);
    }
  }

  once<T>(call: Omit<Call, 'signal'>, read: (response: Response) => Promise<T>): Promise<T> {
    return this.client.send({ ...call, signal: this.signal, isStream: true }, read);
  }

  lines(response: Response): AsyncIterable<readonly string[]> {
    return this.client.lines(response, this.signal);
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
    const wait = (error: unknown, failures: number) => this.delayAfter(error, failures, start);
    return repeat(succeed, wait, this.signal);
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
    const temporary = temporaryOf(error);
    if (temporary === undefined) throw this.explained(error);
    const { firstPause, longestPause } = this.connection.limits;
    const wait = Math.max(temporary.retryAfter, backoff(failures, firstPause, longestPause));
    this.check(temporary, Math.max(start, this.lastSuccess), wait);
    this.announceError(temporary, wait);
    if (!(temporary instanceof Unreachable)) this.repeats += 1;
    return wait;
  }

  private explained(error: unknown): unknown {
    if (!(error instanceof ServiceError)) {
      const temporary = temporaryOf(error);
      return temporary ? new CommandError(EXIT.incomplete, temporary.message) : error;
    }
    if (error.status !== 401) return error;
    return new ContactError(`${textOf(reasonOf(error))}: check ${this.connection.tokenVariable}`);
  }

  /** @throws CommandError if nothing will have succeeded for too long after the wait */
  private check(temporary: TemporaryError, since: number, wait: number): void {
    const { message, retryAfter } = temporary;
    const { firstContact, patience: usual } = this.connection.limits;
    const isFirstContact = temporary instanceof Unreachable && temporary.isFirstContact;
    const patience = isFirstContact ? firstContact : usual;
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

  private announceError({ message }: TemporaryError, wait: number): void {
    const now = performance.now();
    if (now - this.lastAnnouncement < ANNOUNCEMENT_INTERVAL) return;
    this.lastAnnouncement = now;
    const when = wait < 1_000 ? '' : ` in ${inSeconds(wait)}`;
    this.announce(`${this.connection.service.identity.name}: ${message}; trying again${when}`);
  }
}

function temporaryOf(error: unknown): TemporaryError | undefined {
  if (error instanceof TemporaryError) return error;
  if (error instanceof ServiceError) {
    const { status, retryAfter = 0 } = error;
    return status === 408 || status === 429 || status >= 500
      ? new TemporaryError(textOf(reasonOf(error)), retryAfter * 1_000)
      : undefined;
  }
  // What node:http says of a response that was cut off.
  const isCut = (error as NodeJS.ErrnoException).code === 'ECONNRESET';
  return isCut ? new TemporaryError('the connection broke') : undefined;
}
