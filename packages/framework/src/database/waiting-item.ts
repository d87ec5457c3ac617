import type { Span } from '@opentelemetry/api';
import { GroupLockedError, RowLockedError } from './database-error.js';

/** The result of an item among several that the database, or the batcher, has rejected. */
export class Rejected {
  constructor(readonly reason: unknown) {}
}

export interface Waiting<Item, Result> {
  readonly item: Item;
  readonly characters: number;
  readonly begun: number;
  timer: NodeJS.Timeout;
  /** The span of the request, if tracing is on. */
  readonly spans: readonly Span[];
  settle(result: Result | Rejected): void;
}

export type Group<Item, Result> = readonly Waiting<Item, Result>[];

/** @param isSplittable whether an item could succeed without the others */
export function rejectAll(
  group: Group<unknown, never>,
  error: unknown,
  isSplittable: boolean,
): void {
  const ofEach = isSplittable && error instanceof RowLockedError ? new GroupLockedError() : error;
  for (const entry of group) entry.settle(new Rejected(ofEach));
}
