import { readdir, readFile, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { join } from 'node:path';
import ts from 'typescript';

/* `node generate-errors.js` writes the names and numbers of the service's failures, from the files that define them: the
   OpenAPI document and docs/errors.md have no names. */

const SOURCES = ['packages/framework/src', 'src'].map((folder) =>
  fileURLToPath(new URL(`../../${folder}/`, import.meta.url)),
);
const TARGET = fileURLToPath(new URL('src/errors.ts', import.meta.url));

/** The text of a literal member. */
function textOf({ properties }, member) {
  return properties.find(({ name }) => name.text === member).initializer.text;
}

/** The failures that the calls of `defineErrors` in a file define. */
function errorsIn(node) {
  const found = [];
  node.forEachChild((child) => found.push(...errorsIn(child)));
  if (!ts.isCallExpression(node) || node.expression.text !== 'defineErrors') return found;
  for (const { name, initializer } of node.arguments[1].properties) {
    const [number, message] = ['number', 'message'].map((member) => textOf(initializer, member));
    found.push({ name: name.text, number: Number(number), message });
  }
  return found;
}

const errors = [];
for (const folder of SOURCES) {
  const files = await readdir(folder, { recursive: true });
  for (const file of files.filter((name) => name.endsWith('errors.ts'))) {
    const text = await readFile(join(folder, file), 'utf8');
    errors.push(...errorsIn(ts.createSourceFile(file, text, ts.ScriptTarget.Latest)));
  }
}
errors.sort((one, other) => one.number - other.number);

const lines = errors.map(
  ({ name, number, message }) => `  /** ${message} */\n  ${name}: ${number},\n`,
);
await writeFile(
  TARGET,
  `/** The numbers of the failures that the service answers with. */
export const ERRORS = {
${lines.join('')}} as const;
`,
);
