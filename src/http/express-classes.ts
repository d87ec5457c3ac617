import { IncomingMessage, ServerResponse } from 'node:http';
import type { Express, Request } from 'express';
import type { HttpLimits } from './limits.js';
import { REQUEST_ID_HEADER } from './request-id.js';
import { SECURITY_HEADERS } from './security-headers.js';
import { closeAfterUnreadBody } from './unread-body.js';

const SECURITY_FIELDS = Object.entries(SECURITY_HEADERS).flat();

/**
 * Classes of requests and responses that have Express's prototypes from the beginning. Express gives
 * them to each request and response (`setPrototypeOf` in its `handle`). To V8 that is another object,
 * which it has to learn anew; for one that has the prototype already it changes nothing.
 *
 * Not by `Reflect.construct`, nor by a function that calls Node's: V8 reserves the right space for an
 * object only where it sees the whole chain of classes.
 */
export function expressClasses(app: Express, { refusedBody }: HttpLimits) {
  class ExpressRequest extends IncomingMessage {}

  class ExpressResponse extends ServerResponse {
    /** Completes the head of every answer of the public port, whoever writes it. */
    override writeHead(status: number, ...others: unknown[]): this {
      const request = this.req as Request;
      closeAfterUnreadBody(request, this, refusedBody);
      const [fields] = others;
      // All at once, which costs half as much as one after the other.
      if (Array.isArray(fields) && this.getHeaderNames().length === 0) {
        return super.writeHead(status, [
          ...SECURITY_FIELDS,
          REQUEST_ID_HEADER,
          request.id,
          ...fields,
        ]);
      }
      for (const [name, value] of Object.entries(SECURITY_HEADERS)) {
        if (!this.hasHeader(name)) this.setHeader(name, value);
      }
      this.setHeader(REQUEST_ID_HEADER, request.id);
      return super.writeHead(status, ...(others as []));
    }
  }

  Object.setPrototypeOf(ExpressRequest.prototype, app.request);
  Object.setPrototypeOf(ExpressResponse.prototype, app.response);
  Object.assign(app, { request: ExpressRequest.prototype, response: ExpressResponse.prototype });
  return { IncomingMessage: ExpressRequest, ServerResponse: ExpressResponse };
}
