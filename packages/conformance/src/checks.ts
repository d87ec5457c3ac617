import type { OpenApiDocument } from '@resource-service/client/document';
import type { Check } from './check.js';
import { createChecks } from './checks/creates.js';
import { errorChecks } from './checks/errors.js';
import { feedChecks } from './checks/feeds.js';
import { killChecks } from './checks/kills.js';
import { listChecks } from './checks/lists.js';
import { nestedListChecks } from './checks/nested-lists.js';
import { ownerChecks } from './checks/owners.js';
import { preconditionChecks } from './checks/preconditions.js';
import { restoreChecks } from './checks/restores.js';
import { rowChecks } from './checks/rows.js';
import { scopeChecks } from './checks/scopes.js';
import { slowReaderChecks } from './checks/slow-readers.js';
import { testedResourcesOf } from './tested-resource.js';

/**
 * The checks of a service with this OpenAPI document, in the order in which they should run.
 *
 * @example
 * const service = new TestedService(document, { url, token });
 * for (const check of checks(document)) console.log(await check.run(service));
 * await service.removeRows();
 */
export function checks(document: OpenApiDocument): readonly Check[] {
  const resources = testedResourcesOf(document);
  return [
    ...scopeChecks(document),
    ...errorChecks(document),
    ...resources.flatMap((resource) => [
      ...createChecks(resource),
      ...preconditionChecks(resource),
      ...listChecks(resource),
      ...nestedListChecks(resource, resources),
      ...rowChecks(resource),
      ...restoreChecks(resource),
      ...ownerChecks(resource),
      ...feedChecks(resource),
    ]),
    ...resources.flatMap(killChecks),
    ...resources.flatMap(slowReaderChecks),
  ];
}
