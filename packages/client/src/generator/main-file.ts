import { mainResource } from './main-resource.js';
import type { Plan } from './names.js';

export function mainFile(plan: Plan): string {
  const { identity, className, main, properties, schemas } = plan;
  const own = main && mainResource(plan, main);
  const fields = properties.map(
    ({ property, type, name }) => `  readonly ${property}: ${type}<${type}Of<paths, '${name}'>>;\n`,
  );
  const assignments = properties.map(
    ({ property, type, name }) =>
      `    this.${property} = new ${type}('${name}', INT64_PROPERTIES['${name}'], options);\n`,
  );
  return `import type { ClientOptions } from './connection.js';
import { ${own ? 'parseJson as parse' : 'parseJson'}, toJson } from './exact-json.js';
import { Feed } from './feed.js';
import { INT64_PROPERTIES } from './openapi.js';
import type { components, paths } from './openapi.js';
import type { RequestOptions, ResourcePage, Total } from './pages.js';
import { IncompleteExportError, Resource } from './resource.js';
import type { ChangeOptions, CreateOptions, Tagged } from './resource.js';
import type { ImportSummary, Records, Refusal, ResourceImport } from './resource-import.js';
import type { FeedOf, ResourceOf } from './resource-types.js';
import { ServiceError } from './service-error.js';
import { ERRORS } from './generated.js';

export type { ClientOptions } from './connection.js';
export type { ErrorCode } from './service-error.js';
export type { ImportSummary, RefusedRecord, ResourceImport } from './resource-import.js';
export type { RequestOptions, ResourcePage, Total } from './pages.js';
export type { ChangeOptions, CreateOptions, Tagged } from './resource.js';
export type { FeedOf, ResourceOf } from './resource-types.js';
export type { paths } from './openapi.js';
export { ERRORS, Feed, IncompleteExportError, INT64_PROPERTIES, ServiceError, Resource, toJson };
/** @deprecated Use \`INT64_PROPERTIES\`. */
export { INT64_PROPERTIES as INT64_MEMBERS };
${own ? '' : 'export { parseJson };\n'}
${schemas.map((name) => `export type ${name} = components['schemas']['${name}'];\n`).join('')}
${own?.types ?? ''}
/**
 * ${identity.title}. Each failure that the service answers with is a {@link ServiceError}; if there is no answer, the
 * error is from \`fetch\`. Requests that fail temporarily are repeated first.
 */
export class ${className} {
${fields.join('')}
  /** @throws TypeError if an option is wrong */
  constructor(options: ClientOptions) {
${assignments.join('')}  }
${own?.methods ?? ''}}
${own?.functions ?? ''}`;
}
