import { mainResource } from './main-resource.js';
import type { Plan, Property } from './names.js';

export function mainFile(plan: Plan): string {
  const { identity, className, main, properties, others, schemas } = plan;
  const own = main && mainResource(plan, main);
  const classOf = ({ type, name }: Property) => `${type}<${type}Of<paths, '${name}'>>`;
  const fields = properties.map((each) => {
    const { property, methods } = each;
    const type = methods ? `Pick<${classOf(each)}, ${unionOf(methods)}>` : classOf(each);
    return `  readonly ${property}: ${type};\n`;
  });
  const assignments = properties.map(
    (each) =>
      `    this.${each.property} = new ${classOf(each)}('${each.name}', INT64_PROPERTIES['${each.name}'], options);\n`,
  );
  if (others.length > 0) {
    const ids = unionOf(others.map(({ operation }) => operation.operationId ?? ''));
    fields.push(`  /** All other operations, by their ids in the OpenAPI document. */
  readonly operations: Operations<Pick<operations, ${ids}>>;\n`);
    assignments.push('    this.operations = operationsOf(options);\n');
  }
  return `import type { ClientOptions } from './connection.js';
import { ConnectionError } from './connection-error.js';
import { ${own ? 'parseJson as parse' : 'parseJson'}, toJson } from './exact-json.js';
import { Feed } from './feed.js';
import { INT64_PROPERTIES } from './openapi.js';
import type { components, operations, paths } from './openapi.js';
import { operationsOf } from './operations.js';
import type { Operations } from './operations.js';
import type { RequestOptions, ResourcePage, Total } from './pages.js';
import { IncompleteExportError, Resource } from './resource.js';
import type { ChangeOptions, CreateOptions, Tagged } from './resource.js';
import type { ImportSummary, Records, Rejection, ResourceImport } from './resource-import.js';
import type { FeedOf, ResourceOf } from './resource-types.js';
import { ServiceError } from './service-error.js';
import { ERRORS } from './generated.js';

export type { ClientOptions } from './connection.js';
export type { ErrorCode } from './service-error.js';
export type { ImportSummary, RefusedRecord, ResourceImport } from './resource-import.js';
export type { RequestOptions, ResourcePage, Total } from './pages.js';
export type { ChangeOptions, CreateOptions, Tagged } from './resource.js';
export type { FeedOf, ResourceOf } from './resource-types.js';
export type { Operations } from './operations.js';
export type { operations, paths } from './openapi.js';
export { ConnectionError, ERRORS, Feed, IncompleteExportError, INT64_PROPERTIES, ServiceError };
export { Resource, toJson };
/** @deprecated Use \`INT64_PROPERTIES\`. */
export { INT64_PROPERTIES as INT64_MEMBERS };
${own ? '' : 'export { parseJson };\n'}
${schemas.map((name) => `export type ${name} = components['schemas']['${name}'];\n`).join('')}
${own?.types ?? ''}
/**
 * ${identity.title}. Each error response of the service is a {@link ServiceError}; without a response, the error is a
 * {@link ConnectionError}, or a \`TimeoutError\`. Requests that fail temporarily are repeated first.
 */
export class ${className} {
${fields.join('')}
  /** @throws TypeError if an option is wrong */
  constructor(options: ClientOptions) {
${assignments.join('')}  }
${own?.methods ?? ''}}
${own?.functions ?? ''}`;
}

function unionOf(names: readonly string[]): string {
  return names.map((name) => `'${name}'`).join(' | ');
}
