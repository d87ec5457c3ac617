import { randomUUID } from 'node:crypto';
import type { Request } from 'express';

export const REQUEST_ID_HEADER = 'X-Request-Id';

const FIELD = REQUEST_ID_HEADER.toLowerCase();

/** Safe in logs and headers: UUIDs, ULIDs, trace ids and the like. */
const SAFE = /^[\w.:+/=@-]{1,128}$/;

export function requestId(request: Request): void {
  const given = request.headers[FIELD];
  request.id = typeof given === 'string' && SAFE.test(given) ? given : randomUUID();
}
