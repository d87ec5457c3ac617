import { STATUS_CODES } from 'node:http';
import type { ErrorAnswer } from '../errors/to-answer.js';

/** The bytes of an answer on a connection that has no response object; it is the last one there. */
export function rawAnswer({ status, headers, body }: ErrorAnswer): string {
  const content = JSON.stringify(body);
  const fields = {
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
