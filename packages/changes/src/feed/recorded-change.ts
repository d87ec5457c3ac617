import type { Key } from '@resource-service/framework/extension';
import type { ChangeKind } from '../records/change-of.js';

/** A record of a change, as a service reads it. */
export interface RecordedChange<Content = object> {
  /** Greater than the positions of all changes that a reader can have seen before. */
  readonly position: bigint;
  /** When the transaction began. */
  readonly time: Date;
  readonly kind: ChangeKind;
  /** Of the row that has changed. */
  readonly id: Content extends { readonly id: infer Id } ? Id : Key;
  /** The row after the change, as `find` returns it; `undefined` if it was removed. */
  readonly content: Content | undefined;
  readonly principal: { readonly kind: string; readonly id: string };
  readonly requestId: string;
}
