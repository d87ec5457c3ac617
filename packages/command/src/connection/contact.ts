import { Unreachable } from '../command-error.js';
import { inSeconds } from '../seconds.js';

/**
 * Knows whether the service has been reached, and bounds the wait for the first connection: an address that has never
 * worked is probably wrong.
 */
export class Contact {
  private isMade = false;
  private deadline: number | undefined;

  /**
   * @param baseUrl of the service
   * @param patience for the first connection, in milliseconds
   */
  constructor(
    private readonly baseUrl: string,
    private readonly patience: number,
  ) {}

  /**
   * Begins an attempt to connect.
   *
   * @param giveUp is called if the first connection takes too long
   */
  attempt(giveUp: (error: Error) => void) {
    const { isMade } = this;
    this.deadline ??= performance.now() + this.patience;
    const timer = isMade
      ? undefined
      : setTimeout(
          () => giveUp(new Error(`none within ${inSeconds(this.patience)}`)),
          Math.max(0, this.deadline - performance.now()),
        );
    let isConnected = false;
    return {
      get isConnected() {
        return isConnected;
      },
      connected: () => {
        isConnected = true;
        this.isMade = true;
        clearTimeout(timer);
      },
      end: () => clearTimeout(timer),
      failure: (error: NodeJS.ErrnoException): Error =>
        error.name === 'AbortError' ? error : new Unreachable(this.explain(error), !this.isMade),
    };
  }

  private explain({ code, message }: NodeJS.ErrnoException): string {
    const { hostname, host, port, protocol } = new URL(this.baseUrl);
    const address = port === '' ? `${host}:${protocol === 'https:' ? 443 : 80}` : host;
    if (code === 'ECONNREFUSED') return `${address} refuses connections (${code})`;
    if (code === 'ENOTFOUND') return `the host ${hostname} is unknown (${code})`;
    if (code === 'EAI_AGAIN') return `the host ${hostname} cannot be looked up (${code})`;
    // The error of several addresses (happy eyeballs) has no message.
    return `no connection to ${address}: ${message || code}`;
  }
}
