/**
 * The scopes of a token as one text, as in the token: a `Set` of thousands of scopes takes ten times the memory of
 * the token, for as long as the token is remembered or a request with it lasts.
 */
export class ScopeList implements ReadonlySet<string> {
  /** Separated by spaces, with one at each end. Joined, it keeps no other text in memory, as a slice would. */
  private readonly text: string;

  /** @param words invalid ones (RFC 6749, section 3.3: empty, or with a space) are left out */
  constructor(words: readonly string[]) {
    this.text = ['', ...words.filter(isOneWord), ''].join(' ');
  }

  /** In characters. */
  get length(): number {
    return this.text.length;
  }

  get size(): number {
    return this.all().size;
  }

  has(scope: string): boolean {
    return isOneWord(scope) && this.text.includes(` ${scope} `);
  }

  forEach(use: (value: string, same: string, all: ReadonlySet<string>) => void): void {
    for (const scope of this.all()) use(scope, scope, this);
  }

  entries() {
    return this.all().entries();
  }

  keys() {
    return this.all().keys();
  }

  values() {
    return this.all().values();
  }

  [Symbol.iterator]() {
    return this.values();
  }

  private all(): ReadonlySet<string> {
    return new Set(this.text.split(' ').filter(isOneWord));
  }
}

function isOneWord(word: string): boolean {
  return word !== '' && !word.includes(' ');
}
