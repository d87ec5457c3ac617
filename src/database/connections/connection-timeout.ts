import { performance } from 'node:perf_hooks';
import type { EventLoopUtilization } from 'node:perf_hooks';
import { DATABASE_LIMITS } from '../limits.js';
import type { PoolClient } from './pool-client.js';

/** Abandons a connection that is not ready in time. The pool's own timeout does not cover the first query. */
export async function withTimeout<Result>(
  client: PoolClient,
  connecting: () => Promise<Result>,
): Promise<Result> {
  // `setImmediate` first reads an answer that has already arrived.
  let giveUp: NodeJS.Immediate | undefined;
  const timer = setTimeout(() => {
    giveUp = setImmediate(() => client.abandon());
  }, DATABASE_LIMITS.connection);
  try {
    return await connecting();
  } finally {
    clearTimeout(timer);
    clearImmediate(giveUp);
  }
}

/** When a wait began, and how busy the process was until then. */
export interface Moment {
  readonly time: number;
  readonly loop: EventLoopUtilization;
}

export function now(): Moment {
  return { time: performance.now(), loop: performance.eventLoopUtilization() };
}

/**
 * Whether a wait for a connection since then has timed out. A busy process notices the timeout before it reads an answer
 * that has long arrived. So the timeout counts only if the event loop was idle for at least half of the time.
 */
export function isTimedOut(start: Moment): boolean {
  const { idle } = performance.eventLoopUtilization(start.loop);
  const waited = performance.now() - start.time;
  return waited >= DATABASE_LIMITS.connection && idle >= waited / 2;
}
