import type { IncomingMessage } from 'node:http';

/**
 * How often a header field occurs in a request. `headers` has only the first occurrence of some fields.
 *
 * @param name in lower case
 */
export function countOf(name: string, { rawHeaders }: IncomingMessage): number {
  let count = 0;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const field = rawHeaders[index];
    if (field?.length === name.length && field.toLowerCase() === name) count++;
  }
  return count;
}
