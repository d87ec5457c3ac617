import type { TestService } from '../support/test-service.js';
import type { NewPlant } from '../../dist-client/dist/plant-store.js';

/** Plants that a client can spoil. */
export const PLANTS: readonly NewPlant[] = [
  { id: -(2n ** 63n), name: 'Séneçon 🌵', tag: 'a\n"b"\\' },
  { id: 7n, name: '' },
  { id: 9007199254740993n, name: '9007199254740993', tag: 'indoor' },
  { id: 2n ** 63n - 1n, name: 'Aloe', tag: 'desert' },
];

/** What a service has stored, as text. */
export function rowsOf({ database }: TestService): Promise<Record<string, unknown>[]> {
  return database.query('SELECT id, name, tag FROM plants ORDER BY id');
}

/** All items of an iteration. */
export async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const item of items) found.push(item);
  return found;
}

/** Why a request fails, or `undefined`. */
export function failureOf(request: Promise<unknown>): Promise<unknown> {
  return request.then(
    () => undefined,
    (error: unknown) => error,
  );
}
