import { randomUUID } from 'node:crypto';
import { createParamDecorator } from '@nestjs/common';
import type { ExecutionContext } from '@nestjs/common';
import type { Request } from 'express';
import type { Principal } from '../../auth/principal.js';
import { needingPrincipal, requirePrincipal } from '../../auth/require-principal.js';

/** Who makes a change, and in which request. */
export interface Actor {
  readonly principal: Principal;
  /** Of a job: identifies its run. */
  readonly requestId: string;
}

export const Actor = {
  /**
   * The actor of a job, which no request begins: the change records name `system` and the job. Each call is a run of its own.
   *
   * @example await this.bookings.patch(id, { status: 'expired' }, { actor: Actor.system('expire-bookings') });
   */
  system: (job: string): Actor => ({
    principal: { kind: 'system', id: job, scopes: 'all' },
    requestId: randomUUID(),
  }),
} as const;

/** @deprecated named {@link Actor} */
export type Origin = Actor;

const actorOfRequest = createParamDecorator((_: unknown, context: ExecutionContext): Actor => {
  const request = context.switchToHttp().getRequest<Request>();
  return { principal: requirePrincipal(request), requestId: request.id };
});

/**
 * The {@link Actor} of the request's changes. The service does not start if a `@Public()` route has it.
 *
 * @example create(@RequestActor() actor: Actor) {}
 */
export const RequestActor = needingPrincipal('@RequestActor()', actorOfRequest);

/** @deprecated named {@link RequestActor} */
export const RequestOrigin = needingPrincipal('@RequestOrigin()', actorOfRequest);

export interface ActorOption {
  /** Whom the record names. Required if changes are recorded. */
  readonly actor?: Actor;
  /** @deprecated named `actor` */
  readonly origin?: Actor;
}

export function actorOf({ actor, origin }: ActorOption): Actor | undefined {
  return actor ?? origin;
}

/** @throws TypeError */
export function requireActor(actor: Actor | undefined): Actor {
  if (actor !== undefined) return actor;
  throw new TypeError('a change that is recorded needs an actor, and so does an idempotency key');
}

/** The parameters for `actor` of `ChangedRows`. */
export function actorParameters({
  principal,
  requestId,
}: Actor): readonly [principal: string, requestId: string] {
  return [`${principal.kind}:${principal.id}`, requestId];
}
