import type { Response } from 'express';
import { entityTagOf, isNotModified } from './entity-tag.js';
import { stringifyExactJson } from '../../json/exact-json.js';
import { sendJsonText } from './send-json.js';

/**
 * A proxy that compresses a response weakens its entity tag, which then never satisfies `If-Match`. HAProxy, Envoy, Caddy and
 * Cloudflare obey `no-transform` (RFC 9111, section 5.2.2.6); nginx and Apache do not.
 */
const UNCHANGED = ['Cache-Control', 'no-store, no-transform'] as const;

/**
 * What a handler returns to send JSON with an entity tag, unless the request is a PUT. A reading client that already has this
 * representation gets 304. An interceptor would take 15 to 20 µs more for each request.
 *
 * @example return new Representation(await this.tools.find(id));
 */
export class Representation<Content extends object> {
  constructor(readonly content: Content) {}

  send(response: Response, status: number): void {
    const text = stringifyExactJson(this.content);
    const tag = entityTagOf(text);
    const { method, headers } = response.req;
    const isSafe = method === 'GET' || method === 'HEAD';
    if (isSafe && isNotModified(headers, tag)) response.status(304).setHeader('ETag', tag).end();
    // After PUT, an entity tag would say that the body was stored byte for byte (RFC 9110, section 9.3.4).
    else {
      const fields = method === 'PUT' ? [] : ['ETag', tag, ...UNCHANGED];
      sendJsonText(response, status, text, [...this.fields(response), ...fields]);
    }
  }

  /** Further header fields: names and values in turn. */
  protected fields(_response: Response): readonly string[] {
    return [];
  }
}

/**
 * What a handler of `POST /tools` returns for a new tool, with `Location`.
 *
 * @example return new Created(await this.tools.create(tool, { actor, idempotencyKey }));
 */
export class Created<
  Content extends { readonly id: bigint | string },
> extends Representation<Content> {
  /** @param path of the new tool. Default: the path of the request and the id */
  constructor(
    content: Content,
    private readonly path?: string,
  ) {
    super(content);
  }

  protected override fields({ req }: Response): readonly string[] {
    return ['Location', this.path ?? `${req.path}/${this.content.id}`];
  }
}
