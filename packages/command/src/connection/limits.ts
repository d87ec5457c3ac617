/** In milliseconds. */
export const LIMITS = {
  /** Longest time of a request without a byte sent or received, as nginx waits for a response by default. */
  idle: 60_000,
  /** First and longest pause between attempts. */
  firstPause: 200,
  longestPause: 10_000,
  /** Longest time without any success. */
  patience: 120_000,
  /** Longest time until the first connection. */
  firstContact: 5_000,
  /** Longest time of a request that a signal does not end. */
  unstoppable: 10_000,
};

export type Limits = Readonly<typeof LIMITS>;

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
