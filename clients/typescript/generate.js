import { readFile, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import openapiTypes, { astToString, COMMENT_HEADER } from 'openapi-typescript';
import ts from 'typescript';

/* `node generate.js [DOCUMENT FILE]` writes the types of an OpenAPI document, by default of the service. */

const [
  source = fileURLToPath(new URL('../../openapi.json', import.meta.url)),
  target = fileURLToPath(new URL('src/openapi.ts', import.meta.url)),
] = process.argv.slice(2);

const bigint = ts.factory.createKeywordTypeNode(ts.SyntaxKind.BigIntKeyword);

// With `additionalProperties`, TypeScript would accept `plant.nmae`.
const document = JSON.parse(await readFile(source, 'utf8'), (key, value) =>
  key === 'additionalProperties' ? undefined : value,
);
const nodes = await openapiTypes(document, {
  transform: ({ format }) => (format === 'int64' ? bigint : undefined),
});

/** The members of type `bigint` of what each list has. The types alone do not tell the client which numbers to read so. */
const int64Members = Object.fromEntries(
  Object.entries(document.paths).flatMap(([path, { get }]) => {
    const [, name] = /^\/([^/]+)$/.exec(path) ?? [];
    const reference = get?.responses['200']?.content?.['application/json']?.schema.items?.$ref;
    if (name === undefined || reference === undefined) return [];
    const { properties } = document.components.schemas[reference.split('/').at(-1)];
    const members = Object.keys(properties).filter((key) => properties[key].format === 'int64');
    return [[name, members]];
  }),
);

await writeFile(
  target,
  `${COMMENT_HEADER}${astToString(nodes)}
/** The members of type \`bigint\` of each resource, and of changes. */
export const INT64_MEMBERS = ${JSON.stringify(int64Members)} as const;
`,
);
