import type { Type } from '@nestjs/common';
import { documented } from './api-resource.js';
import { create } from './create-operation.js';
import { wordsOf } from './resource-docs.js';
import type { Document, Method, ResourceDocs, ResourceExamples } from './resource-docs.js';
import { get, list, patch, remove, replace } from './stored-operations.js';
import { exportRows, importRows } from './transfer-operations.js';

interface OperationDocs extends Omit<ResourceDocs, 'dto' | 'examples'> {
  readonly operationIds: readonly [one: string, many: string];
  readonly created: Type;
  readonly answer?: Type;
  readonly stored: Type;
  readonly replacement?: Type;
  readonly patch?: Type;
  readonly examples: ResourceExamples['create'];
  readonly changed: number | string;
  readonly replacements?: ResourceExamples['replace'];
  readonly patches?: ResourceExamples['patch'];
  readonly imported?: ResourceExamples['import'];
  readonly refused: { readonly body?: readonly object[]; readonly message: string };
}

/** @deprecated Put `@ApiResource()` on the controller, and remove `@API.create` and the others from its methods. */
export function apiOperations(docs: OperationDocs) {
  const [Single, Many] = docs.operationIds;
  const examples = {
    create: docs.examples,
    replace: docs.replacements,
    patch: docs.patches,
    import: docs.imported,
  };
  const ofRows = wordsOf({ ...docs, dto: docs.stored, examples });
  const words = { ...ofRows, Single, Many, missing: docs.refused.message };
  const created = { status: words.isIdChosen ? 200 : 201, response: docs.answer ?? docs.stored };
  // The decorators of the route can follow, so its status is not known.
  const usual = (document: Document, own: Partial<Method> = { status: 200 }) =>
    documented((_, method) => document(words, { ...method, ...own }), words);
  return {
    create: usual(create, created),
    list: usual(list),
    import: usual(importRows),
    export: usual(exportRows),
    get: usual(get),
    replace: usual(replace),
    patch: usual(patch),
    remove: usual(remove, { status: 204 }),
  };
}

/** @deprecated Put `@ApiResource()` on the controller. */
export const apiGeneratedOperations = apiOperations;
