/** HTML, as opposed to text that has to be escaped in it. */
export class Html {
  constructor(readonly source: string) {}
}

type Part = string | Html | readonly Html[] | false | undefined;

/** Writes HTML; the texts in it are escaped, and `false` and `undefined` are nothing. */
export function html(strings: TemplateStringsArray, ...parts: readonly Part[]): Html {
  return new Html(strings.map((string, index) => string + sourceOf(parts[index])).join(''));
}

function sourceOf(part: Part): string {
  if (part === undefined || part === false) return '';
  if (part instanceof Html) return part.source;
  if (typeof part === 'string') return escape(part);
  return part.map(({ source }) => source).join('');
}

function escape(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
    .replaceAll("'", '&#39;');
}
