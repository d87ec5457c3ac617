/** Text that PostgreSQL can hold: no U+0000 (manual, chapter 8.3) and nothing that has no UTF-8 form. */
export function isStorableText(text: string): boolean {
  return text.isWellFormed() && !text.includes('\0');
}
