import type { Type } from '@nestjs/common';
import type { Feed } from '../feed/feed.js';

const HANDLERS = Symbol('handlers of changes');

/** A method with `@OnChange()`. */
export interface DeclaredHandler {
  readonly repository: Type<{ readonly changes: Feed }>;
  readonly method: string;
  readonly name?: string;
  readonly from?: 'newest' | 'oldest';
  /** Whether the position is stored in a transaction of which the handler gets the manager. */
  readonly transaction?: boolean;
}

export function noteHandler(type: Function, handler: DeclaredHandler): void {
  Reflect.defineMetadata(HANDLERS, [...handlersOf(type), handler], type);
}

/** Also of the classes that the class extends. */
export function handlersOf(type: Function): readonly DeclaredHandler[] {
  return (Reflect.getMetadata(HANDLERS, type) ?? []) as readonly DeclaredHandler[];
}
