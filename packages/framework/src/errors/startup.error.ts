/**
 * The service cannot start. The message is for the operator, with one line for each problem.
 *
 * @example throw new StartupError('NOTICES_URL must be a server of this company');
 */
export class StartupError extends Error {
  override readonly name = 'StartupError';
  readonly exitCode: number = 1;
}

/** @throws StartupError with a line for each mistake, if there are any */
export function requireNone(mistakes: readonly string[]): void {
  if (mistakes.length > 0) throw new StartupError(mistakes.join('\n'));
}
