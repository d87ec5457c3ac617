import { hash } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { createParamDecorator } from '@nestjs/common';
import type { ExecutionContext } from '@nestjs/common';
import type { Request } from 'express';
import { ERRORS } from '../../errors/common-errors.js';
import { ServiceException } from '../../errors/service.exception.js';
import { stringifyExactJson } from '../../json/exact-json.js';

/** RFC 9110, section 8.8.3. Commas may occur within a tag. */
const ENTITY_TAG = /(?:W\/)?"[\x21\x23-\x7e\x80-\xff]*"/g;

export const ENTITY_TAGS_SCHEMA = {
  type: 'string',
  pattern: String.raw`^(\*|((W/)?"[!#-~\x80-\xff]*")?([\t ]*,[\t ]*((W/)?"[!#-~\x80-\xff]*")?)*)$`,
} as const;

const FIELD_NAMES = { 'if-match': 'If-Match', 'if-none-match': 'If-None-Match' } as const;

/** The suffix of the tag of a compressed form: Apache appends `-gzip` or `-br`, Caddy `-zstd`, Jetty `--gzip`. */
const CODING_SUFFIX = /(?:--?|[;:])(?:gzip|deflate|br|zstd)(?="$)/;

/**
 * Whether a representation has the entity tag that the request asks for (`If-Match`, `If-None-Match`).
 *
 * @throws ServiceException `precondition-failed` if a proxy has changed the tag
 */
export type Precondition = (representation: object) => boolean;

/**
 * The strong entity tag of a representation in JSON. It is a hash, because the tags of a version counter would repeat after a
 * delete and a create.
 */
export function entityTagOf(json: string): string {
  return `"${hash('sha256', json, 'base64url').slice(0, 22)}"`;
}

/** RFC 9110, section 13.1. */
function preconditionOf(headers: IncomingHttpHeaders): Precondition | undefined {
  // `If-Match: *` holds for everything that exists, and everything else gets 404 anyway.
  const ifMatch = listOf(headers, 'if-match') ?? '*';
  const ifNoneMatch = listOf(headers, 'if-none-match') ?? [];
  if (ifMatch === '*' && headers['if-none-match'] === undefined) return undefined;
  return (representation) => {
    const tag = entityTagOf(stringifyExactJson(representation));
    return matchesStrongly(ifMatch, tag) && !matchesWeakly(ifNoneMatch, tag);
  };
}

/** Tells the documentation which methods have the parameter. */
export const requestPrecondition = (_: unknown, context: ExecutionContext) =>
  preconditionOf(context.switchToHttp().getRequest<Request>().headers);

/**
 * The {@link Precondition} of the request, if any.
 *
 * @example remove(@RequestPrecondition() precondition: Precondition | undefined) {}
 */
export const RequestPrecondition = createParamDecorator(requestPrecondition);

/** Whether a reading client already has the representation with this tag (RFC 9110, section 13.2.2). */
export function isNotModified(headers: IncomingHttpHeaders, tag: string): boolean {
  if (!matchesStrongly(listOf(headers, 'if-match') ?? '*', tag)) {
    throw new ServiceException(ERRORS.preconditionFailed);
  }
  return matchesWeakly(listOf(headers, 'if-none-match') ?? [], tag);
}

/** `If-Match` compares strongly (RFC 9110, section 13.1.1), so a tag that a proxy has changed never matches. */
function matchesStrongly(list: '*' | readonly string[], tag: string): boolean {
  if (list === '*' || list.includes(tag)) return true;
  if (!list.some((each) => each.startsWith('W/') || CODING_SUFFIX.test(each))) return false;
  throw new ServiceException(
    ERRORS.preconditionFailed,
    'If-Match has an entity tag in a form that never matches: nginx makes it weak (W/) and Apache appends -gzip when they compress a response. Configure the proxy to pass ETag on unchanged',
  );
}

/**
 * Ignores `W/` (RFC 9110, section 8.8.3.2), and the coding that a proxy appends in compressed responses but does not remove
 * from requests.
 */
function matchesWeakly(list: '*' | readonly string[], tag: string): boolean {
  if (list === '*') return true;
  return list
    .map((each) => each.replace(/^W\//, ''))
    .some((each) => each === tag || each.replace(CODING_SUFFIX, '') === tag);
}

function listOf(
  headers: IncomingHttpHeaders,
  name: keyof typeof FIELD_NAMES,
): '*' | readonly string[] | undefined {
  const text = headers[name];
  if (text === undefined || text === '*') return text;
  const tags = text.match(ENTITY_TAG) ?? [];
  // Elements may be empty (RFC 9110, section 5.6.1.2).
  const elements = text.replaceAll(ENTITY_TAG, '\0').split(',');
  if (!elements.every((element) => /^[\t ]*(?:\0[\t ]*)?$/.test(element))) {
    const constraint = 'must be * or a list of entity tags, such as "abc"';
    throw new ServiceException(ERRORS.parameterNotValid, `${FIELD_NAMES[name]} ${constraint}`);
  }
  return tags;
}
