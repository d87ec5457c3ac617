/** In milliseconds. */
export interface Limits {
  /** Longest time of a request without a byte sent or received. */
  readonly idle: number;
  /** First and longest pause between attempts. */
  readonly firstPause: number;
  readonly longestPause: number;
  /** Longest time without any success. */
  readonly patience: number;
  /** Longest time until the first connection. */
  readonly firstContact: number;
}

export const LIMITS: Limits = {
  // As long as nginx waits for an answer by default.
  idle: 60_000,
  firstPause: 200,
  longestPause: 10_000,
  patience: 120_000,
  firstContact: 5_000,
};

const SECONDS = new Intl.NumberFormat('en', {
  style: 'unit',
  unit: 'second',
  unitDisplay: 'long',
  useGrouping: false,
});

/** Such as `0.4 seconds`. */
export function inSeconds(milliseconds: number): string {
  const seconds = milliseconds / 1_000;
  return SECONDS.format(Number(seconds.toFixed(seconds < 10 ? 1 : 0)));
}
