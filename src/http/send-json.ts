import type { ServerResponse } from 'node:http';
import { stringifyExactJson } from './exact-json.js';

/** Answers with a JSON value; `bigint`s are written digit for digit. */
export function sendJson(response: ServerResponse, status: number, value: unknown): void {
  const body = Buffer.from(stringifyExactJson(value));
  response.statusCode = status;
  response.setHeader('Content-Type', 'application/json');
  response.setHeader('Content-Length', body.length);
  response.end(body);
}
