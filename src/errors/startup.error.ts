/** The service cannot start. The message is for whoever started it, one line for each thing to mend. */
export class StartupError extends Error {
  override readonly name = 'StartupError';
}
