/** Random values that a seed repeats (mulberry32). */
export class Random {
  #state: number;

  constructor(readonly seed: number) {
    this.#state = seed;
  }

  /** From 0 to below 1. */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), this.#state | 1);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }

  integer(below: number): number {
    return Math.floor(this.next() * below);
  }

  oneOf<Item>(items: readonly Item[]): Item {
    return items[this.integer(items.length)]!;
  }

  text(length: number, characters = 'abcdefghijklmnopqrstuvwxyz'): string {
    return Array.from({ length }, () => characters.charAt(this.integer(characters.length))).join(
      '',
    );
  }

  uuid(): string {
    const hex = (length: number) => this.text(length, '0123456789abcdef');
    return `${hex(8)}-${hex(4)}-4${hex(3)}-8${hex(3)}-${hex(12)}`;
  }
}
