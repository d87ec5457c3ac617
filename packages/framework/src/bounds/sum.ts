/**
 * A sum that bounds what is kept. Its parts are sizes, so it is exact, and zero when all of them are gone: a single
 * NaN, fraction or negative number would disable the bound for the life of the process.
 */
export class Sum {
  private total = 0;

  get value(): number {
    return this.total;
  }

  /** @throws TypeError unless it is a size */
  add(size: number): void {
    this.total += requireSize(size);
  }

  /** @throws TypeError unless it is a size, of parts that were added */
  subtract(size: number): void {
    this.total = requireSize(this.total - requireSize(size));
  }
}

/** @throws TypeError unless it is a size: an exact integer from zero */
export function requireSize(size: number): number {
  if (Number.isSafeInteger(size) && size >= 0) return size;
  throw new TypeError(`${String(size)} is not a size`);
}
