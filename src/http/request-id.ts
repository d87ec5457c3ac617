import { randomUUID } from 'node:crypto';
import type { Request } from 'express';

export const REQUEST_ID_HEADER = 'X-Request-Id';

declare global {
  namespace Express {
    interface Request {
      /** Names the request in the log and in the answer. */
      id: string;
    }
  }
}

/** Ids that can stand in a log and in a header as they are: UUIDs, ULIDs, trace ids and the like. */
const SANE = /^[\w.:+/=@-]{1,128}$/;

/** Takes the id of the request from the caller if it is sane, else makes one. The answer repeats it. */
export function requestId(request: Request): void {
  const given = request.get(REQUEST_ID_HEADER);
  request.id = given !== undefined && SANE.test(given) ? given : newRequestId();
}

export function newRequestId(): string {
  return randomUUID();
}
