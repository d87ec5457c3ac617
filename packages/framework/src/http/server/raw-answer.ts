import { STATUS_CODES } from 'node:http';
import type { ErrorAnswer } from '../errors/to-answer.js';

/** The last response on a socket without a response object. */
export function rawAnswer(
  { status, headers, body }: ErrorAnswer,
  others: Readonly<Record<string, string>> = {},
): string {
  const content = JSON.stringify(body);
  const fields = {
    ...others,
    ...headers,
    'Content-Type': 'application/json',
    'Content-Length': Buffer.byteLength(content),
    Date: new Date().toUTCString(),
    Connection: 'close',
  };
  return [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    ...Object.entries(fields).map(([name, value]) => `${name}: ${value}`),
    '',
    content,
  ].join('\r\n');
}
