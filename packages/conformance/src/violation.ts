import type { Exchange } from './exchange.js';

/** The service breaks a promise. */
export class Violation extends Error {
  /** What shows it. */
  readonly exchanges: readonly Exchange[];

  constructor(reason: string, ...exchanges: readonly Exchange[]) {
    super(reason);
    this.exchanges = exchanges;
  }
}

/** The service has nothing that the check could try. */
export class NotApplicable extends Error {}

/** @throws Violation unless the condition holds */
export function verify(
  condition: boolean,
  reason: string,
  ...exchanges: readonly Exchange[]
): asserts condition {
  if (!condition) throw new Violation(reason, ...exchanges);
}

/** @throws Violation if the service has failed, instead of saying what is wrong with the request */
export function requireNoFailure(exchange: Exchange): Exchange {
  const { method, path, status } = exchange;
  verify(status < 500, `${method} ${path} gets ${status}`, exchange);
  return exchange;
}
