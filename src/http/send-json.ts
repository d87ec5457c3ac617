import type { ServerResponse } from 'node:http';
import { stringifyExactJson } from './exact-json.js';

/** Answers with a JSON value; `bigint`s are written digit for digit. */
export function sendJson(response: ServerResponse, status: number, value: unknown): void {
  const body = stringifyExactJson(value);
  const length = String(Buffer.byteLength(body));
  response.writeHead(status, ['Content-Type', 'application/json', 'Content-Length', length]);
  response.end(body);
}
