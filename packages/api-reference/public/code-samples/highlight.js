import { EXAMPLES, PLACEHOLDERS } from './request.js';

const TEXT = String.raw`"(?:\\.|[^"\\])*"`;
const NUMBER = String.raw`(?<number>(?<![\w.])-?\d[\d.]*(?:e[-+]?\d+)?n?\b)`;

const WORDS =
  'await|const|defer|for|from|func|if|import|in|new|of|package|return|True|False|None|true|false|null|nil';

/* What a reader looks for first. The rest of a language matters less in ten lines. */

const SHELL = /(?<string>'[^']*')|\\.|(?<word>^curl|(?<=\s)--?[a-zA-Z][\w-]*)/g;

const JSON_TEXT = new RegExp(
  String.raw`(?<key>${TEXT}(?=:))|(?<string>${TEXT})|(?<word>\b(?:true|false|null)\b)|${NUMBER}`,
  'g',
);

const PROGRAM = new RegExp(
  [
    String.raw`(?<comment>//.*)`,
    String.raw`(?<key>${TEXT}(?=: ))`,
    String.raw`(?<string>${TEXT}|'(?:\\.|[^'\\])*'|\x60[^\x60]*\x60)`,
    String.raw`(?<word>\b(?:${WORDS})\b)`,
    NUMBER,
  ].join('|'),
  'g',
);

/** Code as HTML with its colors, and with marks around what the page fills in. */
export function highlighted(code, language, base = EXAMPLES.base) {
  const pattern = { curl: SHELL, JSON: JSON_TEXT }[language] ?? PROGRAM;
  let html = '';
  let end = 0;
  for (const { 0: part, index, groups } of code.matchAll(pattern)) {
    const name = Object.keys(groups).find((key) => groups[key] !== undefined);
    if (name === undefined) continue;
    html += `${escaped(code.slice(end, index))}<span class="${name}">${escaped(part)}</span>`;
    end = index + part.length;
  }
  return (html + escaped(code.slice(end)))
    .replaceAll(PLACEHOLDERS.base, () => `<span data-fill="base">${escaped(base)}</span>`)
    .replaceAll(PLACEHOLDERS.token, `<span data-fill="token">${EXAMPLES.token}</span>`);
}

function escaped(text) {
  return text.replaceAll(/[&<>"']/g, (character) => `&#${character.codePointAt(0)};`);
}
