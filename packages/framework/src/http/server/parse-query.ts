import { parse } from 'node:querystring';
import type { ParsedUrlQuery } from 'node:querystring';
import { ERRORS } from '../../errors/common-errors.js';
import { ServiceException } from '../../errors/service.exception.js';

/** Rejects percent-encoding that is not UTF-8, which the parser would replace. A repeated parameter is an array. */
export function parseQuery(text: string): ParsedUrlQuery {
  try {
    decodeURIComponent(text);
  } catch {
    throw new ServiceException(ERRORS.parameterNotValid, 'the query is not percent-encoded UTF-8');
  }
  // By default, the parser ignores pairs after the thousandth.
  return parse(text, undefined, undefined, { maxKeys: 0 });
}
