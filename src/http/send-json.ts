import type { ServerResponse } from 'node:http';
import { stringifyExactJson } from './exact-json.js';

/** What a handler returned, written as JSON by an interceptor. */
export class WrittenJson {
  /** @param fields names and values of header fields, in turn */
  constructor(
    readonly text: string,
    readonly fields: readonly string[],
  ) {}
}

/** Answers with JSON, with all digits of each `bigint`. */
export function sendJson(response: ServerResponse, status: number, value: unknown): void {
  sendWrittenJson(response, status, new WrittenJson(stringifyExactJson(value), []));
}

export function sendWrittenJson(
  response: ServerResponse,
  status: number,
  { text, fields }: WrittenJson,
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
