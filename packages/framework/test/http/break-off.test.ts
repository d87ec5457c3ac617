import type { Response } from 'express';
import { expect, it, vi } from 'vitest';
import { breakOff } from '../../src/http/responses/break-off.js';

it.each([
  ['1.0', 'resets the connection, whose end would look like the end of the answer'],
  ['1.1', 'closes the connection before the last chunk'],
])('an answer of HTTP/%s %s', (httpVersion) => {
  const [reset, destroy] = [vi.fn<() => void>(), vi.fn<() => void>()];
  const response = { req: { httpVersion, socket: { resetAndDestroy: reset } }, destroy };
  breakOff(response as unknown as Response);
  expect([reset.mock.calls.length, destroy.mock.calls.length]).toEqual(
    httpVersion === '1.0' ? [1, 0] : [0, 1],
  );
  expect(response).toHaveProperty('isBroken', true);
});
