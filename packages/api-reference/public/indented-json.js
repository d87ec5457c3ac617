/* An empty object or array; a string, which may be cut off; a sign; or a number or word. */
const TOKENS = /\{\s*\}|\[\s*\]|"[^"\\]*(?:\\[^][^"\\]*)*"?|[{}[\],:]|[^\s"{}[\],:]+/g;

/**
 * Indents JSON, of which the end can be missing. Each token stays as it is: JSON.parse would round integers beyond 2^53.
 */
export function indentedJson(text) {
  let depth = 0;
  const line = () => `\n${'  '.repeat(depth)}`;
  return text.replaceAll(TOKENS, (token) => {
    if (token === ',') return token + line();
    if (token === ':') return ': ';
    if (token === '{' || token === '[') {
      depth += 1;
      return token + line();
    }
    if (token === '}' || token === ']') {
      depth = Math.max(depth - 1, 0);
      return line() + token;
    }
    return token.startsWith('{') || token.startsWith('[') ? token.replaceAll(/\s/g, '') : token;
  });
}
