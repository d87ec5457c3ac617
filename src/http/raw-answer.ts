import { STATUS_CODES } from 'node:http';
import type { ErrorAnswer } from '../errors/to-answer.js';
import { stringifyExactJson } from './exact-json.js';
import { REQUEST_ID_HEADER } from './request-id.js';
import { SECURITY_HEADERS } from './security-headers.js';

/** The bytes of an answer on a connection that has no response object; it is the last one there. */
export function rawAnswer({ status, headers, body }: ErrorAnswer, requestId: string): string {
  const content = stringifyExactJson(body);
  const fields = {
    ...SECURITY_HEADERS,
    [REQUEST_ID_HEADER]: requestId,
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
