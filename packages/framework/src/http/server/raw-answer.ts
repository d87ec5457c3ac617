import { STATUS_CODES } from 'node:http';
import type { ErrorAnswer } from '../errors/to-answer.js';

/** The text of an answer on a socket without a response object. The connection closes after it. */
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
