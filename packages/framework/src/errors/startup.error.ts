/** The service cannot start. The message is for the operator, with one line for each problem. */
export class StartupError extends Error {
  override readonly name = 'StartupError';
  readonly exitCode: number = 1;
}
