import { randomBytes } from 'node:crypto';

/** Characters of a piece. Whatever shows twice as many in a row shows a whole piece. */
const PIECE = 8;

/** Looks for secrets in everything that a run leaves. */
export class SecretSearch {
  /** By their names: the report of a failure must not show them either. */
  private readonly secrets: (readonly [name: string, value: string])[] = [];
  private readonly remains = new Map<string, string>();

  /** Adds a secret, by default a new one. */
  secret(name: string, value = randomBytes(30).toString('base64url')): string {
    this.secrets.push([name, value]);
    return value;
  }

  /** Adds what a token has secret. Everybody may know the id in it. */
  token(name: string, token: string): string {
    const parts = token.startsWith('pst_') ? [token.slice(17)] : token.split('.').slice(1);
    for (const part of parts) this.secret(name, part);
    return token;
  }

  /** Adds a text that must not contain secrets. */
  keep(place: string, ...texts: readonly string[]): void {
    this.remains.set(place, [this.remains.get(place), ...texts].join('\n'));
  }

  /** Where texts were found. */
  get places(): string[] {
    return [...this.remains].filter(([, text]) => text.trim() !== '').map(([place]) => place);
  }

  /** Where a piece of a secret is, such as `AUTH_TOKEN, characters 8 to 16, as hex: stdout`. */
  found(): string[] {
    return this.secrets.flatMap(([name, value]) =>
      piecesOf(value).flatMap((piece, at) =>
        [...formsOf(piece)].flatMap(([form, encoding]) =>
          [...this.remains]
            .filter(([, text]) => text.includes(form))
            .map(([place]) => {
              const characters = `characters ${at * PIECE} to ${(at + 1) * PIECE}`;
              return `${name}, ${characters}, as ${encoding}: ${place}`;
            }),
        ),
      ),
    );
  }
}

/** Without a shorter piece at the end. */
function piecesOf(value: string): string[] {
  const count = Math.floor(value.length / PIECE);
  return Array.from({ length: count }, (_, at) => value.slice(at * PIECE, (at + 1) * PIECE));
}

/** Each form once, with the name of its encoding. */
function formsOf(piece: string): ReadonlyMap<string, string> {
  const bytes = Buffer.from(piece);
  return new Map([
    ...[0, 1, 2].flatMap((offset) =>
      (['base64', 'base64url'] as const).map(
        (encoding) => [encodedAt(offset, bytes, encoding), encoding] as const,
      ),
    ),
    [bytes.toString('hex'), 'hex'],
    [encodeURIComponent(piece), 'percent-encoding'],
    [JSON.stringify(piece).slice(1, -1), 'JSON'],
    [piece, 'text'],
  ]);
}

/** Digits that do not depend on what stands before and after the bytes, which begin at an offset from a group of three. */
function encodedAt(offset: number, bytes: Buffer, encoding: 'base64' | 'base64url'): string {
  const [first, end] = [Math.ceil((offset * 8) / 6), Math.floor(((offset + bytes.length) * 8) / 6)];
  return Buffer.concat([Buffer.alloc(offset), bytes])
    .toString(encoding)
    .slice(first, end);
}
