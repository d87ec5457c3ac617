import { createRequire } from 'node:module';
import type { OpenAPI3 } from 'openapi-typescript';
import { int64MembersOf } from './document.js';
import type { OpenApiDocument } from './document.js';
import { installedPackage } from './installed-package.js';
import { camelCase } from './names.js';

export async function typesFile(document: OpenApiDocument): Promise<string> {
  // With `additionalProperties`, TypeScript would accept a member with a typing mistake.
  const closed = JSON.parse(JSON.stringify(document), (key, value: unknown) =>
    key === 'additionalProperties' ? undefined : value,
  ) as OpenAPI3;
  const { default: openapiTypes, astToString, COMMENT_HEADER, ts } = generator();
  const bigint = ts.factory.createKeywordTypeNode(ts.SyntaxKind.BigIntKeyword);
  const nodes = await openapiTypes(closed, {
    transform: ({ format }) => (format === 'int64' ? bigint : undefined),
  });
  return `${COMMENT_HEADER}${astToString(nodes)}
/** The members of type \`bigint\` of each resource, and of changes. */
export const INT64_MEMBERS = ${JSON.stringify(int64MembersOf(document))} as const;
`;
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

/** A failure that the service can answer with. */
export interface ErrorKind {
  /** In kebab case, such as `body-missing`. */
  readonly code: string;
  readonly number: number;
  readonly message: string;
}

export function errorsFile(errors: readonly ErrorKind[]): string {
  const lines = errors.map(
    ({ code, number, message }) => `  /** ${message} */\n  ${camelCase(code)}: ${number},\n`,
  );
  return `/** The numbers of the failures that the service answers with. */
export const ERRORS = {
${lines.join('')}} as const;
`;
}
