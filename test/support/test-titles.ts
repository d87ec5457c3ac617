import { readFileSync } from 'node:fs';
import ts from 'typescript';

/** Functions of Vitest that take a title. */
const TITLED = new Set(['describe', 'it']);

/** The titles of a file of tests, each after those of its groups, as `a token is refused`. Groups have titles, too. */
export function titlesIn(path: string): ReadonlySet<string> {
  const titles = new Set<string>();
  const visit = (node: ts.Node, group: readonly string[]): void => {
    const title = ts.isCallExpression(node) ? titleOf(node) : undefined;
    const whole = title === undefined ? group : [...group, title];
    if (title !== undefined) titles.add(whole.join(' '));
    ts.forEachChild(node, (child) => visit(child, whole));
  };
  const source = readFileSync(path, 'utf8');
  visit(ts.createSourceFile(path, source, ts.ScriptTarget.Latest), []);
  return titles;
}

function titleOf({ expression, arguments: [first] }: ts.CallExpression): string | undefined {
  if (first === undefined || !ts.isStringLiteralLike(first)) return undefined;
  return TITLED.has(rootOf(expression)) ? first.text : undefined;
}

/** The name that an expression such as `it.each(methods)` begins with. */
function rootOf(expression: ts.Expression): string {
  if (ts.isIdentifier(expression)) return expression.text;
  return ts.isCallExpression(expression) || ts.isPropertyAccessExpression(expression)
    ? rootOf(expression.expression)
    : '';
}
