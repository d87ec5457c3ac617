import type { ServerResponse } from 'node:http';
import { stringifyExactJson } from '../../json/exact-json.js';
import { requireRoomFor } from './bounded-response.js';

export function sendJson(response: ServerResponse, status: number, value: unknown): void {
  sendJsonText(response, status, stringifyExactJson(value));
}

/** @param fields further header fields: names and values in turn */
export function sendJsonText(
  response: ServerResponse,
  status: number,
  text: string,
  fields: readonly string[] = [],
): void {
  const length = Buffer.byteLength(text);
  requireRoomFor(length);
  response.writeHead(status, [
    'Content-Type',
    'application/json',
    'Content-Length',
    String(length),
    ...fields,
  ]);
  response.end(text);
}
