import { setMaxListeners } from 'node:events';
import { Agent as HttpAgent } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import type { Duplex } from 'node:stream';
import { Exchange } from './exchange.js';
import { AddressError } from './networks.js';
import { outcomeOf, reasonOf } from './outcome.js';
import type { Outcome } from './outcome.js';
import { signedHeaders } from './signatures.js';
import type { Message } from './signatures.js';
import { Targets } from './targets.js';
import type { TargetOptions } from './targets.js';

/** Connections with each protocol. */
const MAX_CONNECTIONS = 1_000;
/** How many of them stay open for the next message: to other addresses, they are of no use. */
const MAX_IDLE = 100;
/** For how long, in milliseconds. */
const IDLE_TIMEOUT = 5_000;

export interface SenderOptions extends TargetOptions {
  /** For a delivery, from the look-up of the name to the header of the response, in milliseconds. */
  readonly timeout: number;
}

/**
 * Sends messages of Standard Webhooks 1.0, to public addresses only. Variables for proxies have no effect: through a proxy, nobody knows
 * which address a connection leads to.
 */
export class Sender {
  private readonly targets: Targets;
  private readonly agents: Readonly<Record<string, HttpAgent>>;

  constructor(private readonly options: SenderOptions) {
    this.targets = new Targets(options);
    const connections = {
      keepAlive: true,
      timeout: IDLE_TIMEOUT,
      maxTotalSockets: MAX_CONNECTIONS,
      autoSelectFamily: true,
      lookup: this.targets.lookup,
    };
    this.agents = {
      'http:': withFewIdle(new HttpAgent(connections)),
      // Whatever NODE_TLS_REJECT_UNAUTHORIZED says.
      'https:': withFewIdle(new HttpsAgent({ ...connections, rejectUnauthorized: true })),
    };
  }

  /** @throws AddressError if messages can never be sent to this URL */
  checkUrl(url: string): void {
    this.targets.parse(url);
  }

  /**
   * Sends a message once. Rejects only when `signal` aborts, with its reason.
   *
   * @param secrets each of which signs the message
   * @param beforeWrite is called each time that the message is about to be written, and may abort `signal`
   */
  async send(
    url: string,
    message: Message,
    secrets: readonly string[],
    signal: AbortSignal,
    beforeWrite: () => void = () => {},
  ): Promise<Outcome> {
    signal.throwIfAborted();
    const { timeout } = this.options;
    const end = new AbortController();
    const abort = () => end.abort();
    const timer = setTimeout(abort, timeout);
    // Many deliveries may share a signal.
    setMaxListeners(0, signal);
    signal.addEventListener('abort', abort);
    const exchange = new Exchange(end.signal, beforeWrite);
    try {
      const target = this.targets.parse(url);
      const received = await exchange.run({
        url: target,
        headers: {
          'Content-Type': 'application/json',
          'User-Agent': 'resource-service-webhooks',
          ...signedHeaders(message, secrets),
        },
        body: Buffer.from(message.body),
        agent: this.agents[target.protocol]!,
      });
      return outcomeOf(received);
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof AddressError) return { kind: 'failed', reason: error.message };
      const { phase } = exchange;
      const reason = end.signal.aborted
        ? `No ${phase} within ${timeout / 1_000} s.`
        : reasonOf(error as Error, phase);
      return { kind: 'failed', reason };
    } finally {
      clearTimeout(timer);
      signal.removeEventListener('abort', abort);
    }
  }

  close(): Promise<void> {
    this.targets.close();
    for (const agent of Object.values(this.agents)) agent.destroy();
    return Promise.resolve();
  }
}

/** Node.js bounds the idle connections to each host only. */
function withFewIdle<A extends HttpAgent>(agent: A): A {
  const keep = agent.keepSocketAlive.bind(agent);
  const keepSocketAlive = (socket: Duplex) =>
    Object.values(agent.freeSockets).flat().length < MAX_IDLE && keep(socket);
  return Object.assign(agent, { keepSocketAlive });
}
