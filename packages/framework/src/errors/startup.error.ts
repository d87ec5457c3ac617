/** The service cannot start. The message is for the operator, with one line for each problem. */
export class StartupError extends Error {
  override readonly name = 'StartupError';
  /** Of the process. */
  readonly exitCode: number = 1;
}
