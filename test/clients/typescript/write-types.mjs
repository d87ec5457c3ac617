import { writeFile } from 'node:fs/promises';
import { pathToFileURL } from 'node:url';
import openapiTypes, { astToString } from 'openapi-typescript';
import ts from 'typescript';

// node write-types.mjs openapi.json plant-store.d.ts
const [document = '', types = ''] = process.argv.slice(2);
const bigint = ts.factory.createKeywordTypeNode(ts.SyntaxKind.BigIntKeyword);
const nodes = await openapiTypes(pathToFileURL(document), {
  transform: ({ format }) => (format === 'int64' ? bigint : undefined),
});
await writeFile(types, astToString(nodes));
