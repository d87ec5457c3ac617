import type { ServerResponse } from 'node:http';
import { stringifyExactJson } from './exact-json.js';

/** Answers with JSON, with all digits of each `bigint`. */
export function sendJson(response: ServerResponse, status: number, value: unknown): void {
  const body = stringifyExactJson(value);
  const length = String(Buffer.byteLength(body));
  response.writeHead(status, ['Content-Type', 'application/json', 'Content-Length', length]);
  response.end(body);
}
