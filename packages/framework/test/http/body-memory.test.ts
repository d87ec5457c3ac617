import { EventEmitter } from 'node:events';
import { Readable } from 'node:stream';
import type { Request } from 'express';
import { describe, expect, it } from 'vitest';
import { ERRORS } from '../../src/errors/common-errors.js';
import { jsonBody } from '../../src/http/body/json-body.js';
import type { UnreadBody } from '../../src/http/body/json-body.js';

const LIMITS = { bytes: 1024 * 1024, idleMilliseconds: 60_000, milliseconds: 60_000 };

const MAX = 32 * 1024 * 1024;

/** Reads bodies that arrive in parts at the same time, and are not answered. */
async function read(lengths: readonly number[]) {
  const prepare = jsonBody(LIMITS);
  const headers = { 'content-type': 'application/json', 'transfer-encoding': 'chunked' };
  const requests = lengths.map((length) => {
    const stream = new Readable({ read: () => {} });
    const request = Object.assign(stream, { headers, res: new EventEmitter() });
    prepare(request as unknown as Request);
    return {
      request: request as unknown as Request & Readable,
      text: `"${'x'.repeat(length - 2)}"`,
    };
  });
  const bodies = requests.map(({ request }) => (request.body as UnreadBody).read());
  for (const { request, text } of requests) request.push(text);
  for (const { request } of requests) request.push(null);
  const settled = await Promise.allSettled(bodies);
  for (const one of settled) {
    if (one.status === 'rejected') expect(one.reason).toMatchObject({ kind: ERRORS.tooManyBodies });
  }
  return settled.map(({ status }) => status === 'fulfilled');
}

describe('bodies that arrive in parts', () => {
  it('have 32 MiB together if they are long, and as much again if they are short', async () => {
    const [long, short] = [64 * 1024, 16 * 1024];
    const [all, free] = [MAX / long, MAX / short];
    const lengths = [
      ...Array<number>(all + 10).fill(long),
      ...Array<number>(free + 10).fill(short),
    ];
    const outcomes = await read(lengths);
    expect(outcomes.map((isRead, at) => (isRead ? lengths[at]! : 0)).reduce((a, b) => a + b)).toBe(
      2 * MAX,
    );
    expect(outcomes.slice(0, all + 10).filter(Boolean)).toHaveLength(all);
  });
});
