import { randomBytes } from 'node:crypto';
import { crc32 } from 'node:zlib';
import type { Identity } from '../../config/identity.js';

/* Tokens look like `<prefix>_<id>_<secret><checksum>`, after "Behind GitHub's new authentication token formats" (GitHub, 2021): the
   prefix tells scanners for leaked secrets what they have found, and the checksum tells a typo without a look-up. */

const DIGITS = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

/** Of the id, which is public and never used again: 71 bits. */
const ID_DIGITS = 12;

/** Of the secret: 130 bits. */
const SECRET_DIGITS = 22;

/** Of the checksum: 62 to the power of 6 exceeds 2 to the power of 32. */
const CHECKSUM_DIGITS = 6;

const ID = new RegExp(`^[0-9A-Za-z]{${ID_DIGITS}}$`);

export function newTokenId(): string {
  return randomDigits(ID_DIGITS);
}

export function isTokenId(text: string): boolean {
  return ID.test(text);
}

export class TokenFormat {
  /** Such as `tlb_`. */
  readonly prefix: string;
  private readonly checksumAt: number;
  /** Also for secret scanners (docs/tokens.md). */
  private readonly pattern: RegExp;

  constructor({ tokenPrefix }: Pick<Identity, 'tokenPrefix'>) {
    this.prefix = `${tokenPrefix}_`;
    this.checksumAt = this.prefix.length + ID_DIGITS + 1 + SECRET_DIGITS;
    this.pattern = new RegExp(
      `^${this.prefix}[0-9A-Za-z]{${ID_DIGITS}}_[0-9A-Za-z]{${SECRET_DIGITS + CHECKSUM_DIGITS}}$`,
    );
  }

  create(id: string): string {
    const begin = `${this.prefix}${id}_${randomDigits(SECRET_DIGITS)}`;
    return begin + checksumOf(begin);
  }

  /** Checks nothing else of a text that begins like a token. */
  idIn(token: string): string {
    return token.slice(this.prefix.length, this.prefix.length + ID_DIGITS);
  }

  /** Detects typos: a CRC detects each error of up to 32 bits in a row. */
  isWellFormed(token: string): boolean {
    const { pattern, checksumAt } = this;
    return (
      pattern.test(token) && checksumOf(token.slice(0, checksumAt)) === token.slice(checksumAt)
    );
  }
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

/** All digits are equally likely: bytes above the last multiple of 62 are dropped. */
function randomDigits(count: number): string {
  const limit = 256 - (256 % DIGITS.length);
  let digits = '';
  while (digits.length < count) {
    const [byte = limit] = randomBytes(1);
    if (byte < limit) digits += DIGITS.charAt(byte % DIGITS.length);
  }
  return digits;
}
