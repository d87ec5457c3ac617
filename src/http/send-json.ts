import type { ServerResponse } from 'node:http';
import { stringifyExactJson } from './exact-json.js';

/** Answers with JSON, with all digits of each `bigint`. */
export function sendJson(response: ServerResponse, status: number, value: unknown): void {
  sendJsonText(response, status, stringifyExactJson(value));
}

/** @param fields names and values of further header fields, in turn */
export function sendJsonText(
  response: ServerResponse,
  status: number,
  text: string,
  fields: readonly string[] = [],
): void {
  const length = String(Buffer.byteLength(text));
  response.writeHead(status, [
    'Content-Type',
    'application/json',
    'Content-Length',
    length,
    ...fields,
  ]);
  response.end(text);
}
