import { randomBytes } from 'node:crypto';
import { crc32 } from 'node:zlib';

/* Tokens look like `pst_<id>_<secret><checksum>`, after "Behind GitHub's new authentication token formats" (GitHub, 2021): the
   prefix tells scanners for leaked secrets what they have found, and the checksum tells a typo without a look-up. */

export const TOKEN_PREFIX = 'pst_';

const DIGITS = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

/** Digits of the id, which is public and never used again: 71 bits. */
const ID_DIGITS = 12;

/** Digits of the secret: 130 bits. */
const SECRET_DIGITS = 22;

/** Digits of the checksum: 62 to the power of 6 exceeds 2 to the power of 32. */
const CHECKSUM_DIGITS = 6;

const SECRET_AT = TOKEN_PREFIX.length + ID_DIGITS + 1;
const CHECKSUM_AT = SECRET_AT + SECRET_DIGITS;

/** A token, for secret scanners as well (docs/tokens.md). */
const TOKEN = new RegExp(
  `^${TOKEN_PREFIX}[0-9A-Za-z]{${ID_DIGITS}}_[0-9A-Za-z]{${SECRET_DIGITS + CHECKSUM_DIGITS}}$`,
);

const ID = new RegExp(`^[0-9A-Za-z]{${ID_DIGITS}}$`);

export function newTokenId(): string {
  return randomDigits(ID_DIGITS);
}

/** A token with a new secret. */
export function newToken(id: string): string {
  const begin = `${TOKEN_PREFIX}${id}_${randomDigits(SECRET_DIGITS)}`;
  return begin + checksumOf(begin);
}

export function isTokenId(text: string): boolean {
  return ID.test(text);
}

/** The id in a text that begins like a token. Nothing else of the text is checked. */
export function tokenIdIn(token: string): string {
  return token.slice(TOKEN_PREFIX.length, TOKEN_PREFIX.length + ID_DIGITS);
}

/** Whether a text can be a token. One with a typo cannot: a CRC detects each error of up to 32 bits in a row. */
export function isWellFormed(token: string): boolean {
  return TOKEN.test(token) && checksumOf(token.slice(0, CHECKSUM_AT)) === token.slice(CHECKSUM_AT);
}

function checksumOf(text: string): string {
  let rest = crc32(text);
  let digits = '';
  for (let i = 0; i < CHECKSUM_DIGITS; i += 1) {
    digits = DIGITS.charAt(rest % DIGITS.length) + digits;
    rest = Math.floor(rest / DIGITS.length);
  }
  return digits;
}

/** Each digit with the same probability: bytes above the last multiple of 62 are dropped. */
function randomDigits(count: number): string {
  const limit = 256 - (256 % DIGITS.length);
  let digits = '';
  while (digits.length < count) {
    const [byte = limit] = randomBytes(1);
    if (byte < limit) digits += DIGITS.charAt(byte % DIGITS.length);
  }
  return digits;
}
