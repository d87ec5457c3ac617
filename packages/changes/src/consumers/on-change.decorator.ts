import type { Type } from '@nestjs/common';
import { checkAtStart } from '@resource-service/framework/extension';
import type { ClassToCheck } from '@resource-service/framework/extension';
import type { EntityManager } from 'typeorm';
import type { Feed } from '../feed/feed.js';
import type { RecordedChange } from '../feed/recorded-change.js';
import { ChangeConsumers } from './change-consumers.js';
import { handlersOf, noteHandler } from './handlers.js';

/** A repository that records changes, with the content that it finds. */
type RecordedRepository<Content> = Type<{
  readonly changes: Feed;
  find(id: never): Promise<Content>;
}>;

export interface OnChangeOptions {
  /** Where the position is stored, by default the names of class and method: give it before you rename these. */
  readonly name?: string;
  /** Where a new consumer begins, by default after the newest change. */
  readonly from?: 'newest' | 'oldest';
}

type Handler<Content, Second> = (change: RecordedChange<Content>, second: Second) => unknown;
type HandlerDecorator<Content, Second> = <Method extends Handler<Content, Second>>(
  target: object,
  method: string,
  descriptor: TypedPropertyDescriptor<Method>,
) => void;

/**
 * Calls a method of a provider with each change of a resource, in their order, at least once, in one replica at a time. When it throws or
 * rejects, it is called again with the same change, after a growing pause. Needs {@link ChangeConsumersModule}.
 *
 * @example
 * @OnChange(BookingsRepository)
 * async tell(change: RecordedChange<StoredBookingDto>, signal: AbortSignal) {
 *   await fetch(url, { method: 'POST', body: `${change.kind} ${change.id}`, signal });
 * }
 */
export function OnChange<Content>(
  repository: RecordedRepository<Content>,
  options: OnChangeOptions & { readonly transaction: true },
): HandlerDecorator<Content, EntityManager>;
export function OnChange<Content>(
  repository: RecordedRepository<Content>,
  options?: OnChangeOptions,
): HandlerDecorator<Content, AbortSignal>;
export function OnChange<Content>(
  repository: RecordedRepository<Content>,
  options: OnChangeOptions & { readonly transaction?: boolean } = {},
): (target: object, method: string) => void {
  return ({ constructor }, method) => {
    noteHandler(constructor, { repository, method, ...options });
    checkAtStart(constructor, mistakesOf);
  };
}

/** A line for each handler that would get no changes. */
function mistakesOf({ type, isStatic, find }: ClassToCheck): readonly string[] {
  return handlersOf(type).flatMap(({ repository, method }) => {
    const handler = `${type.name}.${method}: @OnChange(${repository.name})`;
    if (find(ChangeConsumers) === undefined)
      return `${handler} needs the import of ChangeConsumersModule`;
    if (!isStatic) return `${handler} is not for a request-scoped provider`;
    const found = find(repository);
    if (found === undefined) return `${handler}: no module provides the repository`;
    try {
      // A repository without records throws.
      return found.changes === undefined ? `${handler}: the resource records no changes` : [];
    } catch {
      return `${handler}: the resource records no changes`;
    }
  });
}
