import { mainResource } from './main-resource.js';
import { camelCase } from './names.js';
import type { Plan } from './names.js';

export function mainFile(plan: Plan): string {
  const { identity, className, main, mainFeed, resources, feeds } = plan;
  const own = main && mainResource(plan, main);
  const members = [
    ...(main ? [{ member: `#${camelCase(main.name)}`, type: 'Resource', name: main.name }] : []),
    ...(mainFeed ? [{ member: '#feed', type: 'Feed', name: mainFeed.name }] : []),
    ...resources.map(({ name }) => ({ member: camelCase(name), type: 'Resource', name })),
    ...feeds.map(({ name }) => ({ member: camelCase(name), type: 'Feed', name })),
  ];
  const fields = members.map(
    ({ member, type, name }) => `  readonly ${member}: ${type}<${type}Of<paths, '${name}'>>;\n`,
  );
  const assignments = members.map(
    ({ member, type, name }) =>
      `    this.${member} = new ${type}('${name}', INT64_MEMBERS['${name}'], options);\n`,
  );
  return `import type { ClientOptions } from './connection.js';
import { ${own ? 'parseJson as parse' : 'parseJson'}, toJson } from './exact-json.js';
import { Feed } from './feed.js';
import { INT64_MEMBERS } from './openapi.js';
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
export { ERRORS, Feed, IncompleteExportError, INT64_MEMBERS, ServiceError, Resource, toJson };
${own ? '' : 'export { parseJson };\n'}
${schemasOf(plan)
  .map((name) => `export type ${name} = components['schemas']['${name}'];\n`)
  .join('')}
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

function schemasOf({ main, mainFeed, resources, feeds }: Plan): readonly string[] {
  const names = [main, ...resources].flatMap((each) => Object.values(each?.schemas ?? {}));
  const changes = [mainFeed, ...feeds].flatMap((each) => each?.schema ?? []);
  return [...new Set([...names, ...changes])];
}
