import type { Response } from 'express';
import { expect, it, vi } from 'vitest';
import { Page } from '../../src/http/responses/page.js';

const FIRST = '01920000-0000-7000-8000-00000000000a';
const SECOND = '01920000-0000-7000-8000-00000000000b';

it.each([
  ['id', FIRST, SECOND],
  ['-id', SECOND, FIRST],
])('by %s, the link has the ids that are left, also of upper case', (sort, read, rest) => {
  const writeHead = vi.fn<(status: number, fields: readonly string[]) => void>();
  const response = { req: { path: '/loans' }, writeHead, end: () => {} } as unknown as Response;
  const ids = [FIRST.toUpperCase(), SECOND.toUpperCase()];
  new Page(['{}'], read, { limit: 1, sort, ids }).send(response, 200);
  expect(writeHead.mock.calls[0]?.[1]).toContain(
    `</loans?limit=1&sort=${sort}&ids=${rest}&after=${read}>; rel="next"`,
  );
});
