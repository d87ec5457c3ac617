import { PLACEHOLDERS } from './request.js';

const TEXT = String.raw`"(?:\\.|[^"\\])*"`;
const NUMBER = String.raw`(?<number>(?<![\w.])-?\d[\d.]*n?\b)`;

/** What a reader looks for first. The rest of a language matters less in ten lines. */
const KINDS = {
  shell: /(?<string>'[^']*')|\\.|(?<word>^curl|(?<=\s)--?[a-zA-Z][\w-]*)/g,
  program: new RegExp(
    String.raw`(?<comment>//.*)|(?<key>${TEXT}(?=: ))|(?<string>${TEXT}|'(?:\\.|[^'\\])*'|${'`[^`]*`'})|(?<word>\b(?:await|const|defer|for|from|func|if|import|in|new|of|package|return|True|False|None|true|false|null|nil)\b)|${NUMBER}`,
    'g',
  ),
  data: new RegExp(
    String.raw`(?<key>${TEXT}(?=:))|(?<string>${TEXT})|(?<word>\b(?:true|false|null)\b)|${NUMBER}`,
    'g',
  ),
};

/** Code as HTML with its colors, and with marks around what the page fills in. */
export function highlighted(code, kind, base = PLACEHOLDERS.base) {
  let html = '';
  let end = 0;
  for (const { 0: part, index, groups } of code.matchAll(KINDS[kind])) {
    const name = Object.keys(groups).find((key) => groups[key] !== undefined);
    if (name === undefined) continue;
    html += `${escaped(code.slice(end, index))}<span class="${name}">${escaped(part)}</span>`;
    end = index + part.length;
  }
  return (html + escaped(code.slice(end)))
    .replaceAll(PLACEHOLDERS.base, () => `<span data-fill="base">${escaped(base)}</span>`)
    .replaceAll(PLACEHOLDERS.token, `<span data-fill="token">${PLACEHOLDERS.token}</span>`);
}

function escaped(text) {
  return text.replaceAll(/[&<>"']/g, (character) => `&#${character.codePointAt(0)};`);
}
