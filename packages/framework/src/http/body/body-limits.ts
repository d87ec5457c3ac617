export interface BodyLimits {
  /** Length of a body, or of a line of a body that is read line by line. */
  readonly bytes: number;
  /** Between two chunks of a body. */
  readonly idleMilliseconds: number;
  /** For the whole body, or a line. */
  readonly milliseconds: number;
}
