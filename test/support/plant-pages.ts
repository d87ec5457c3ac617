import { expect } from 'vitest';
import type { Answer, TestService } from './test-service.js';

export type Row = readonly [id: bigint | number, name: string, tag?: string | undefined];

/** Stores plants below the interface. */
export async function storePlants({ database }: TestService, plants: readonly Row[]) {
  await database.query(
    'INSERT INTO plants (id, name, tag) SELECT * FROM unnest($1::bigint[], $2::text[], $3::text[])',
    [
      plants.map(([id]) => String(id)),
      plants.map(([, name]) => name),
      plants.map(([, , tag]) => tag ?? null),
    ],
  );
}

/** The ids of a page, with all digits. */
export function idsOf({ text }: Answer): string[] {
  return [...text.matchAll(/"id":(-?\d+)/g)].map(([, id = '']) => id);
}

/** The target of the `Link` to the next page. */
export function nextOf({ headers }: Answer): string | undefined {
  const link = headers.get('link');
  if (link === null) return undefined;
  const [, target] = /^<([^>]+)>; rel="next"$/.exec(link) ?? [];
  expect(target).toBeDefined();
  return target;
}

/** The ids of all pages, page by page. */
export async function pagesOf(service: TestService, path: string): Promise<string[][]> {
  const pages: string[][] = [];
  for (let next: string | undefined = path; next !== undefined;) {
    const answer: Answer = await service.request('GET', next);
    expect(answer.status).toBe(200);
    pages.push(idsOf(answer));
    next = nextOf(answer);
  }
  return pages;
}
