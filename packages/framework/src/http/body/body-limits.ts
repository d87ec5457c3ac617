export interface BodyLimits {
  /** Longest body, and longest line of a body that is read line by line, in bytes. */
  readonly bytes: number;
  /** Longest pause between two chunks of a body. */
  readonly idleMilliseconds: number;
  /** From the start of reading to the end of the body, or of a line. */
  readonly milliseconds: number;
}
