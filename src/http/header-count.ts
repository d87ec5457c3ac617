import type { IncomingMessage } from 'node:http';

/**
 * How often a request has a header field. Node keeps the first of several.
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
