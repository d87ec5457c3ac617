/** The local database cannot be used. The message is one line for the developer, with a remedy. */
export class LocalError extends Error {
  override readonly name = 'LocalError';
}
