/** In milliseconds. */
export const RETRIES = {
  first: 5_000,
  longest: 3_600_000,
  /** Afterwards, the webhook is paused. */
  all: 3 * 24 * 3_600_000,
} as const;

/** What is known of the errors since the last success. */
export interface Failing {
  readonly attempts: number;
  /** As of `Date.now()`, like all times here. */
  readonly since: number;
  /** `undefined`: never again by itself. */
  readonly nextAttemptAt: number | undefined;
}

/**
 * When to try again after an error: exponential backoff with jitter, the last time when all retries have taken three days.
 *
 * @param before the errors before this one
 * @param retryAfter what the receiver wants to wait, in milliseconds
 */
export function failingSince(
  before: Pick<Failing, 'attempts' | 'since'> | undefined,
  now: number,
  retryAfter = 0,
): Failing {
  const { attempts, since } = before ?? { attempts: 0, since: now };
  const longest = Math.min(RETRIES.first * 2 ** attempts, RETRIES.longest);
  const pause = longest * (0.5 + Math.random() / 2);
  const next = now + Math.max(pause, Math.min(retryAfter, RETRIES.longest));
  const end = since + RETRIES.all;
  return {
    attempts: attempts + 1,
    since,
    nextAttemptAt: now >= end ? undefined : Math.min(next, end),
  };
}
