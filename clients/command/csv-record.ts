/* CSV (RFC 4180) with a header line. As in PostgreSQL's COPY, an empty field without quotes is absent, and "" is the
   empty text. */

export const COLUMNS: readonly string[] = ['id', 'name', 'tag'];

export const CSV_HEADER = `${COLUMNS.join()}\r\n`;

/** Quotes all text, because then no character needs a rule. */
export function csvRecord(id: bigint, name: string, tag: string | undefined): string {
  return `${id},${quotedField(name)},${tag === undefined ? '' : quotedField(tag)}\r\n`;
}

function quotedField(text: string): string {
  return `"${text.replaceAll('"', '""')}"`;
}
