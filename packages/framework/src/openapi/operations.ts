import type { OpenAPIObject } from '@nestjs/swagger';
import type { REPEATABLE } from '../http/answers/repeatable.js';

type OperationObject = NonNullable<OpenAPIObject['paths'][string]['get']> & {
  readonly 'x-required-scope'?: string;
  [REPEATABLE]?: true;
};
type TagObject = NonNullable<OpenAPIObject['tags']>[number];

export interface Method {
  readonly method: string;
  readonly path: string;
  readonly operation: OperationObject;
}

export function methodsOf({ paths }: OpenAPIObject): readonly Method[] {
  return Object.entries(paths).flatMap(([path, item]) =>
    Object.entries(item as Record<string, OperationObject>).map(([method, operation]) => ({
      method,
      path,
      operation,
    })),
  );
}

export function scopesOf(document: OpenAPIObject): readonly string[] {
  const scopes = methodsOf(document).flatMap(
    ({ operation }) => operation['x-required-scope'] ?? [],
  );
  return [...new Set(scopes)].toSorted();
}

/** Of the methods of a tag, in the order of the description. */
const VERBS = [
  ['create', (methods) => methods.has('post')],
  ['list', (methods) => methods.has('list')],
  ['change', (methods) => methods.has('put') || methods.has('patch')],
  ['remove', (methods) => methods.has('delete')],
] as const satisfies readonly (readonly [
  verb: string,
  isOf: (methods: ReadonlySet<string>) => boolean,
])[];

/** The names of the resources, in the order of the modules. */
export function tagsOf(document: OpenAPIObject): TagObject[] {
  const methods = new Map<string, Set<string>>();
  for (const { method, path, operation } of methodsOf(document)) {
    for (const tag of operation.tags ?? []) {
      const known = methods.get(tag) ?? new Set();
      methods.set(tag, known.add(method === 'get' && !path.endsWith('}') ? 'list' : method));
    }
  }
  return [...methods].map(([name, of]) => ({ name, description: describe(name, of) }));
}

function describe(name: string, methods: ReadonlySet<string>): string {
  const verbs = VERBS.filter(([, isOf]) => isOf(methods)).map(([verb]) => verb);
  const isReadOnly = verbs.every((verb) => verb === 'list');
  const last = verbs.pop();
  if (isReadOnly || last === undefined) return `Read ${name}.`;
  const all = verbs.length === 0 ? last : `${verbs.join(', ')} and ${last}`;
  return `${all.charAt(0).toUpperCase()}${all.slice(1)} ${name}.`;
}
