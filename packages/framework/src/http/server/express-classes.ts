import { IncomingMessage, ServerResponse } from 'node:http';
import type { ServerOptions } from 'node:http';
import type { Express, Request, Response } from 'express';
import type { HttpLimits } from './limits.js';
import { REQUEST_ID_HEADER } from './request-id.js';
import { SECURITY_HEADERS } from './security-headers.js';
import { boundedResponse } from '../responses/bounded-response.js';
import { closeAfterUnreadBody } from '../body/unread-body.js';

const SECURITY_FIELDS = fieldLines(Object.entries(SECURITY_HEADERS));
const WITHOUT_CACHE_CONTROL = fieldLines(
  Object.entries(SECURITY_HEADERS).filter(([name]) => name !== 'Cache-Control'),
);

function fieldLines(fields: readonly (readonly [name: string, value: string])[]): string {
  return fields.map(([name, value]) => `${name}: ${value}\r\n`).join('');
}

const { _storeHeader: storeHeader } = ServerResponse.prototype as unknown as {
  readonly _storeHeader: (this: ServerResponse, statusLine: string, fields: unknown) => void;
};

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
  /* Fields that are added later do not fit into the object, so that V8 would keep them in another one. */
  class ExpressRequest extends IncomingMessage {
    id = '';
    principal: Request['principal'] = undefined;
    guard: Request['guard'] = undefined;
    scopes: Request['scopes'] = undefined;
    credentialsErrorReason: Request['credentialsErrorReason'] = undefined;
    bodyChunks: Request['bodyChunks'] = undefined;
    bodyIsRead = false;
    span: Request['span'] = undefined;
    body: unknown = undefined;
    // Express's own.
    res: unknown = undefined;
    next: unknown = undefined;
    baseUrl = '';
    originalUrl = '';
    params: unknown = undefined;
    route: unknown = undefined;
  }

  const BoundedResponse = boundedResponse();

  class ExpressResponse<Incoming extends IncomingMessage> extends BoundedResponse<Incoming> {
    error: Response['error'] = undefined;
    endsInError = false;
    isBroken = false;
    private fieldLines = '';

    override writeHead(status: number, ...others: unknown[]): this {
      const request = this.req as unknown as Request;
      closeAfterUnreadBody(request, this, rejectedBody);
      const [fields] = others;
      // Node.js would check each constant field in each response.
      if (Array.isArray(fields) && this.getHeaderNames().length === 0) {
        this.fieldLines = fields.includes('Cache-Control')
          ? WITHOUT_CACHE_CONTROL
          : SECURITY_FIELDS;
        return super.writeHead(status, [REQUEST_ID_HEADER, request.id, ...fields]);
      }
      // A response before, with a field that Node.js rejects, may have set it.
      this.fieldLines = '';
      for (const [name, value] of Object.entries(SECURITY_HEADERS)) {
        if (!this.hasHeader(name)) this.setHeader(name, value);
      }
      this.setHeader(REQUEST_ID_HEADER, request.id);
      return super.writeHead(status, ...(others as []));
    }

    /** Called by `writeHead`. */
    // oxlint-disable-next-line no-underscore-dangle
    _storeHeader(statusLine: string, fields: unknown): void {
      storeHeader.call(this, statusLine + this.fieldLines, fields);
    }
  }

  Object.setPrototypeOf(ExpressRequest.prototype, app.request);
  Object.setPrototypeOf(BoundedResponse.prototype, app.response);
  Object.assign(app, { request: ExpressRequest.prototype, response: ExpressResponse.prototype });
  return { IncomingMessage: ExpressRequest, ServerResponse: ExpressResponse };
}
