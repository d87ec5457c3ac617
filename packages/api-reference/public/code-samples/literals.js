/** Most characters of an object in one line. */
const LINE = 60;

/**
 * A value of JSON as a literal. Integers are bigints, which keep their digits.
 *
 * @param notation how the language writes texts, integers and the names of properties; `words` are `true`, `false` and `null`,
 * and with `spaced` there are spaces inside the braces of an object in one line
 */
export function literal(notation, value, indent = '', property = '') {
  const [yes, no, nothing] = notation.words;
  if (value === null || value === undefined) return nothing;
  if (typeof value === 'string') return notation.text(value);
  if (typeof value === 'bigint') return notation.integer(value, property);
  if (typeof value === 'boolean') return value ? yes : no;
  if (typeof value !== 'object') return JSON.stringify(value);
  const inner = `${indent}${notation.indent}`;
  const [open, close, parts] = Array.isArray(value)
    ? ['[', ']', value.map((item) => literal(notation, item, inner, property))]
    : [
        '{',
        '}',
        Object.entries(value).map(
          ([name, part]) => `${notation.property(name)}: ${literal(notation, part, inner, name)}`,
        ),
      ];
  const line = parts.join(', ');
  if (parts.length === 0) return open + close;
  if (line.length <= LINE && !line.includes('\n')) {
    if (open === '[') return `[${line}]`;
    return notation.spaced ? `{ ${line} }` : `{${line}}`;
  }
  return `${open}\n${parts.map((part) => `${inner}${part},\n`).join('')}${indent}${close}`;
}
