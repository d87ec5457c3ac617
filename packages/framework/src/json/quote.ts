import { UNPRINTABLE } from '../observability/text-lines.js';

/** In UTF-16 code units. */
const MAX_LENGTH = 100;

/**
 * Quotes text of a client for a message: truncated, and with invisible characters escaped.
 *
 * @example throw new ServiceException(ERRORS.parameterNotValid, `there is no branch ${quoteText(branch)}`);
 */
export function quoteText(text: string): string {
  const shown = text.length > MAX_LENGTH ? `${text.slice(0, MAX_LENGTH)}…` : text;
  return JSON.stringify(shown).replaceAll(
    UNPRINTABLE,
    (hidden) => `\\u${hidden.codePointAt(0)?.toString(16).padStart(4, '0')}`,
  );
}
