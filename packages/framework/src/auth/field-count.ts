import type { IncomingMessage } from 'node:http';

/**
 * How often a header field occurs. `headersDistinct` tells as well, but Node.js makes an array for each field.
 *
 * @param name in lower case
 */
export function fieldCount({ rawHeaders }: IncomingMessage, name: string): number {
  let count = 0;
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const each = rawHeaders[i]!;
    if (each.length === name.length && each.toLowerCase() === name) count += 1;
  }
  return count;
}
