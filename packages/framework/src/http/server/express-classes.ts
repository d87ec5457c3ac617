import { IncomingMessage } from 'node:http';
import type { ServerOptions } from 'node:http';
import type { Express, Request } from 'express';
import type { HttpLimits } from './limits.js';
import { REQUEST_ID_HEADER } from './request-id.js';
import { SECURITY_HEADERS } from './security-headers.js';
import { boundedResponse } from '../responses/bounded-response.js';
import { closeAfterUnreadBody } from '../body/unread-body.js';

const SECURITY_FIELDS = Object.entries(SECURITY_HEADERS).flat();
const WITHOUT_CACHE_CONTROL = Object.entries(SECURITY_HEADERS)
  .filter(([name]) => name !== 'Cache-Control')
  .flat();

/**
 * Request and response classes with Express's prototypes. Express calls `setPrototypeOf` on each request and response (in its
 * `handle`), which deoptimises the object unless the prototype is already in place.
 *
 * These are real subclasses, because V8 allocates the right size only if it sees the whole chain of classes: not
 * `Reflect.construct`, and not a function that calls Node's constructor.
 */
export function expressClasses(
  app: Express,
  { rejectedBody }: HttpLimits,
): Required<Pick<ServerOptions, 'IncomingMessage' | 'ServerResponse'>> {
  class ExpressRequest extends IncomingMessage {}

  const BoundedResponse = boundedResponse();

  class ExpressResponse<Incoming extends IncomingMessage> extends BoundedResponse<Incoming> {
    override writeHead(status: number, ...others: unknown[]): this {
      const request = this.req as unknown as Request;
      closeAfterUnreadBody(request, this, rejectedBody);
      const [fields] = others;
      // Passing all fields at once costs half as much as `setHeader` for each.
      if (Array.isArray(fields) && this.getHeaderNames().length === 0) {
        return super.writeHead(status, [
          ...(fields.includes('Cache-Control') ? WITHOUT_CACHE_CONTROL : SECURITY_FIELDS),
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
  Object.setPrototypeOf(BoundedResponse.prototype, app.response);
  Object.assign(app, { request: ExpressRequest.prototype, response: ExpressResponse.prototype });
  return { IncomingMessage: ExpressRequest, ServerResponse: ExpressResponse };
}
