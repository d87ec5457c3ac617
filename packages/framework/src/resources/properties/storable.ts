import { isStorableText } from '../../database/storable-text.js';
import { ERRORS } from '../../errors/common-errors.js';
import { ServiceException } from '../../errors/service.exception.js';
import { ExactNumber } from '../../json/exact-number.js';

/**
 * In no type does PostgreSQL store text with U+0000, nor each number of JSON. The driver would replace an unpaired surrogate.
 *
 * @throws ServiceException `body-not-valid`
 */
export function requireStorable(property: string, value: unknown): void {
  const why = reasonAgainst(value);
  if (why !== undefined) throw new ServiceException(ERRORS.bodyNotValid, `${property} ${why}`);
}

export function reasonAgainst(value: unknown): string | undefined {
  if (typeof value === 'string') return isStorableText(value) ? undefined : NO_TEXT;
  if (typeof value !== 'object' || value === null) return undefined;
  if (value instanceof ExactNumber) return value.isLong ? NO_NUMBER : undefined;
  if (ArrayBuffer.isView(value) || value instanceof Date) return undefined;
  const parts = Array.isArray(value) ? value : Object.entries(value).flat();
  for (const part of parts as readonly unknown[]) {
    const why = reasonAgainst(part);
    if (why !== undefined) return why;
  }
  return undefined;
}

export const NO_TEXT = 'must not contain U+0000 or unpaired surrogates';
const NO_NUMBER = 'must not contain numbers of more than 400 digits, written without an exponent';
