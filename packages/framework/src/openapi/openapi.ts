import type { INestApplication } from '@nestjs/common';
import { DocumentBuilder, SwaggerModule } from '@nestjs/swagger';
import type { OpenAPIObject } from '@nestjs/swagger';
import { stringify } from 'lossless-json';
import { REPEATABLE } from '../http/responses/repeatable.js';
import { ErrorDto } from '../http/errors/error.dto.js';
import { allErrors } from '../errors/error-kind.js';
import { SECURITY_SCHEMES } from '../auth/auth.module.js';
import type { SecuritySchemes } from '../auth/auth.module.js';
import type { Config } from '../config/config.js';
import { withCommonParts } from './common-parts.js';
import type { SchemasObject } from './common-parts.js';
import { descriptionOf } from './description.js';
import { webhooksOf } from './document-webhooks.js';
import { methodsOf, tagsOf } from './operations.js';
import type { Method } from './operations.js';

type SchemaObject = Exclude<SchemasObject[string], { $ref: string }>;

interface LinkedResponse {
  links?: Readonly<Record<string, { readonly operationId?: string }>>;
}

const METHODS = ['post', 'get', 'put', 'patch', 'delete'];

/**
 * The OpenAPI 3.1 document of the service, in JSON with exact digits and sorted keys, so that two versions differ only where
 * the service does.
 */
export function openApiText(
  app: INestApplication,
  { identity, http: { basePath, publicBaseUrl } }: Pick<Config, 'identity' | 'http'>,
): string {
  const builder = new DocumentBuilder()
    .setOpenAPIVersion('3.1.0')
    .setTitle(identity.title)
    .setVersion(identity.document?.version ?? identity.build.version)
    .addSecurity('bearerAuth', {
      type: 'http',
      scheme: 'bearer',
      description: 'An access token from the operator of the service.',
    })
    .addSecurityRequirements('bearerAuth')
    // First, so that requests go to the origin of the page.
    .addServer(basePath || '/', 'Relative to the address of this document');
  const schemes = Object.entries(app.get<SecuritySchemes>(SECURITY_SCHEMES));
  for (const [name, scheme] of schemes)
    builder.addSecurity(name, scheme).addSecurityRequirements(name);
  if (publicBaseUrl !== undefined) builder.addServer(publicBaseUrl, 'The public address');
  const config = builder.build();
  delete config.info.contact; // The builder leaves an empty object.
  const { license = identity.build.license } = identity.document ?? {};
  // The types lack `identifier`, which needs no address (OpenAPI 3.1, section 4.8.4).
  if (license !== undefined) {
    Object.assign(config.info, { license: { name: license, identifier: license } });
  }
  const documented = webhooksOf(app);
  if (documented !== undefined) config.webhooks = documented.webhooks;
  // The servers have the prefix.
  const document = SwaggerModule.createDocument(app, config, {
    ignoreGlobalPrefix: true,
    // Every operation refers to it.
    extraModels: [ErrorDto, ...(documented?.models ?? [])],
  });
  document.info.description = descriptionOf(document, identity.description);
  const methods = methodsOf(document);
  removeDeadLinks(methods);
  for (const { operation } of methods) {
    delete operation[REPEATABLE];
    // An operation without a scope is `@Public()`: the service does not start otherwise.
    if (operation['x-required-scope'] === undefined) operation.security = [];
  }
  document.tags = tagsOf(document);
  listErrors(document);
  return `${stringify(sortKeys(withCommonParts(document)), undefined, 2)}\n`;
}

/** A create leads to the look-up, which a resource need not have. */
function removeDeadLinks(methods: readonly Method[]): void {
  const ids = new Set(methods.map(({ operation }) => operation.operationId));
  for (const { operation } of methods) {
    for (const response of Object.values(operation.responses) as LinkedResponse[]) {
      const links = Object.entries(response.links ?? {}).filter(
        ([, { operationId }]) => operationId === undefined || ids.has(operationId),
      );
      if (links.length > 0) response.links = Object.fromEntries(links);
      else delete response.links;
    }
  }
}

function listErrors({ components }: OpenAPIObject): void {
  const schema = components?.schemas?.['Error'] as SchemaObject | undefined;
  const number = schema?.properties?.['error'] as SchemaObject;
  const numbers = allErrors().map(({ number: error, message }) => `- ${error}: ${message}`);
  number.description = `${number.description}\n\n${numbers.join('\n')}`;
}

/**
 * Sorts the keys of the document, except the fields of schemas, whose order is the order of columns of CSV files, and of
 * examples, whose order is the order of responses.
 */
function sortKeys(value: unknown, parent?: string): unknown {
  if (parent === 'value') return value;
  if (Array.isArray(value)) return value.map((item) => sortKeys(item));
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).filter(([, field]) => field !== undefined);
  const sorted = entries.toSorted(([one], [other]) => (rank(one) < rank(other) ? -1 : 1));
  return Object.fromEntries(
    (parent === 'properties' ? entries : sorted).map(([key, field]) => [key, sortKeys(field, key)]),
  );
}

/** Methods in the order in which a reader tries them, everything else in alphabetical order. */
function rank(key: string): string {
  const index = METHODS.indexOf(key);
  return index === -1 ? key : String(index);
}
