/** A static token. */
export const TOKEN = 'a-token-for-tests-of-forty-two-characters.';

/** The id of an issued token. */
export function idOf(token: string): string {
  return token.slice(4, 16);
}
