import { createRequire } from 'node:module';
import type { OpenAPI3 } from 'openapi-typescript';
import { int64PropertiesOf } from './document.js';
import type { OpenApiDocument } from './document.js';

export async function typesFile(document: OpenApiDocument): Promise<string> {
  // With `additionalProperties`, TypeScript would accept a property with a typing mistake.
  const closed = JSON.parse(JSON.stringify(document), (key, value: unknown) =>
    key === 'additionalProperties' ? undefined : value,
  ) as OpenAPI3;
  const { default: openapiTypes, astToString, COMMENT_HEADER, ts } = generator();
  const bigint = ts.factory.createKeywordTypeNode(ts.SyntaxKind.BigIntKeyword);
  const nodes = await openapiTypes(closed, {
    // The service fills a property with a default, so clients may leave it out.
    defaultNonNullable: false,
    transform: ({ format }) => (format === 'int64' ? bigint : undefined),
  });
  return `${COMMENT_HEADER}${astToString(nodes)}
/** The properties of type \`bigint\` of each resource, and of changes. */
export const INT64_PROPERTIES = ${JSON.stringify(int64PropertiesOf(document))} as const;
`;
}

/**
 * The file of a package beside this one, from the working directory: in a workspace, or with another package manager than npm, it is
 * not above the folder of this package.
 */
export function installedPackage(name: string): string {
  const paths = [process.cwd(), import.meta.dirname];
  return createRequire(import.meta.url).resolve(name, { paths });
}

/** The package that writes the types, and the compiler that it uses, whose nodes it takes. */
function generator() {
  const file = installedPackage('openapi-typescript');
  const require = createRequire(file);
  return {
    ...(require(file) as typeof import('openapi-typescript')),
    ts: require('typescript') as typeof import('typescript'),
  };
}
