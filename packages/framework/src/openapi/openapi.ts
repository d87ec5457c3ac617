import type { INestApplication } from '@nestjs/common';
import { DocumentBuilder, SwaggerModule } from '@nestjs/swagger';
import type { OpenAPIObject } from '@nestjs/swagger';
import { stringify } from 'lossless-json';
import { ErrorDto } from '../http/errors/error.dto.js';
import { allErrors } from '../errors/error-kind.js';
import type { Config } from '../config/config.js';
import type { Identity } from '../config/identity.js';
import { withCommonParts } from './common-parts.js';

const describe = (
  { description }: Identity,
  scopes: readonly string[],
  hasPublic: boolean,
) => `${description}

## Authentication

Every request needs a bearer token in its \`Authorization\` header${hasPublic ? ', unless its operation says otherwise' : ''}. The token must have the scope of the operation: ${scopes.map((scope) => `\`${scope}\``).join(', ')}. Otherwise the request is refused with 403.

## Errors

A failed request is answered with an Error. Its \`error\` number identifies the failure and never changes its meaning; the first three digits are the HTTP status.

## Retries

After a 429 or 503, wait for the seconds in \`Retry-After\`, then send the request again. Every operation can be repeated: a create with the same content changes nothing, and a change with \`If-Match\` is made at most once.

## Exact ids

Ids are 64-bit integers. JSON parsers that read numbers as doubles, such as JavaScript's \`JSON.parse\`, round ids beyond 2^53.`;

type SchemaObject = Exclude<
  NonNullable<NonNullable<OpenAPIObject['components']>['schemas']>[string],
  { $ref: string }
>;
type OperationObject = NonNullable<OpenAPIObject['paths'][string]['get']> & {
  readonly 'x-required-scope'?: string;
};
type TagObject = NonNullable<OpenAPIObject['tags']>[number];

const METHODS = ['post', 'get', 'put', 'patch', 'delete'];

/**
 * Writes the OpenAPI 3.1 document of the service. JSON, with exact digits and sorted keys, so that
 * two versions of it differ only where the service does.
 */
export function openApiText(
  app: INestApplication,
  { identity, http: { basePath, publicBaseUrl } }: Pick<Config, 'identity' | 'http'>,
): string {
  const builder = new DocumentBuilder()
    .setOpenAPIVersion('3.1.0')
    .setTitle(identity.title)
    .setVersion('1.0.0')
    .addSecurity('bearerAuth', {
      type: 'http',
      scheme: 'bearer',
      description: 'An access token from the operator of the service.',
    })
    .addSecurityRequirements('bearerAuth')
    // The path alone comes first: requests then go to wherever the page was loaded from.
    .addServer(basePath || '/', 'Relative to the address of this document');
  if (publicBaseUrl !== undefined) builder.addServer(publicBaseUrl, 'The public address');
  const config = builder.build();
  delete config.info.contact; // The builder leaves an empty object.
  // The types lack `identifier`, which needs no address (OpenAPI 3.1, section 4.8.4).
  Object.assign(config.info, { license: { name: 'MIT', identifier: 'MIT' } });
  // The servers carry the prefix, so the paths equal the published interface below any prefix.
  const document = SwaggerModule.createDocument(app, config, {
    ignoreGlobalPrefix: true,
    // Every operation refers to it, whatever its decorators say.
    extraModels: [ErrorDto],
  });
  const open = publicOperations(document);
  for (const operation of open) operation.security = [];
  document.info.description = describe(identity, scopesOf(document), open.length > 0);
  document.tags = tagsOf(document);
  listErrors(document);
  return `${stringify(sortKeys(withCommonParts(document)), undefined, 2)}\n`;
}

function operationsOf({ paths }: OpenAPIObject): [method: string, operation: OperationObject][] {
  return Object.values(paths).flatMap((item) =>
    Object.entries(item as Record<string, OperationObject>),
  );
}

function scopesOf(document: OpenAPIObject): string[] {
  const scopes = operationsOf(document).flatMap(
    ([, operation]) => operation['x-required-scope'] ?? [],
  );
  return [...new Set(scopes)].toSorted();
}

/** An operation without a scope is `@Public()`: the service does not start otherwise. */
function publicOperations(document: OpenAPIObject): OperationObject[] {
  return operationsOf(document).flatMap(([, operation]) =>
    operation['x-required-scope'] === undefined ? [operation] : [],
  );
}

/** The tags of the operations: the names of the resources, in the order of the modules. */
function tagsOf(document: OpenAPIObject): TagObject[] {
  const operations = operationsOf(document);
  const tagsOfMethods = (filter: (method: string) => boolean) =>
    new Set(operations.flatMap(([method, { tags = [] }]) => (filter(method) ? tags : [])));
  const created = tagsOfMethods((method) => method === 'post');
  return [...tagsOfMethods(() => true)].map((name) => ({
    name,
    description: created.has(name) ? `Create, list, change and remove ${name}.` : `Read ${name}.`,
  }));
}

/** Adds the numbers of all failures to the schema of the Error. */
function listErrors({ components }: OpenAPIObject): void {
  const schema = components?.schemas?.['Error'] as SchemaObject | undefined;
  const number = schema?.properties?.['error'] as SchemaObject;
  const numbers = allErrors().map(({ number: error, message }) => `- ${error}: ${message}`);
  number.description = `${number.description}\n\n${numbers.join('\n')}`;
}

/**
 * Sorts the keys of the document. The members of a schema stay in the order of the entity, which is the order of the columns
 * of CSV files. The members of an example stay in the order in which the service sends them.
 */
function sortKeys(value: unknown, parent?: string): unknown {
  if (parent === 'value') return value;
  if (Array.isArray(value)) return value.map((item) => sortKeys(item));
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).filter(([, member]) => member !== undefined);
  const sorted = entries.toSorted(([one], [other]) => (rank(one) < rank(other) ? -1 : 1));
  return Object.fromEntries(
    (parent === 'properties' ? entries : sorted).map(([key, member]) => [
      key,
      sortKeys(member, key),
    ]),
  );
}

/** The methods of a path come in the order in which a reader tries them, everything else in alphabetical order. */
function rank(key: string): string {
  const index = METHODS.indexOf(key);
  return index === -1 ? key : String(index);
}
