/** The local database cannot be used. The message is for the developer, in one line, with a remedy. */
export class LocalError extends Error {
  override readonly name = 'LocalError';
}
