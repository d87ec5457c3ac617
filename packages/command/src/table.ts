/** Rows for a terminal, with columns as wide as what they have. */
export function tableOf(rows: readonly (readonly string[])[]): string {
  const [first = []] = rows;
  const widths = first.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)));
  const line = (row: readonly string[]) =>
    row
      .map((cell, column) => cell.padEnd(widths[column]!))
      .join('  ')
      .trimEnd();
  return rows.map((row) => `${line(row)}\n`).join('');
}
