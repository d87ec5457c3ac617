import { readFile, writeFile } from 'node:fs/promises';
import openapiTypes, { astToString, COMMENT_HEADER } from 'openapi-typescript';
import ts from 'typescript';

/* Writes the types of `openapi.json`. With `--check`, fails if they are not up to date. */

const DOCUMENT = new URL('../../openapi.json', import.meta.url);
const TYPES = new URL('src/openapi.ts', import.meta.url);

const bigint = ts.factory.createKeywordTypeNode(ts.SyntaxKind.BigIntKeyword);

// With `additionalProperties`, TypeScript would accept `plant.nmae`.
const document = JSON.parse(await readFile(DOCUMENT, 'utf8'), (key, value) =>
  key === 'additionalProperties' ? undefined : value,
);
const nodes = await openapiTypes(document, {
  transform: ({ format }) => (format === 'int64' ? bigint : undefined),
});
const types = COMMENT_HEADER + astToString(nodes);

if (!process.argv.includes('--check')) {
  await writeFile(TYPES, types);
} else if ((await readFile(TYPES, 'utf8')) !== types) {
  console.error('src/openapi.ts is not up to date with openapi.json: run `npm run generate`.');
  process.exitCode = 1;
}
