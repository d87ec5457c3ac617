import type { OpenAPIObject } from '@nestjs/swagger';
import type { Repeatable, REPEATABLE } from '../http/responses/repeatable.js';

type OperationObject = NonNullable<OpenAPIObject['paths'][string]['get']> & {
  /** Several: one of them is enough. */
  readonly 'x-required-scope'?: string | readonly string[];
  [REPEATABLE]?: Repeatable;
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

/** By method, in the order of the description of a tag. */
const VERBS = {
  post: 'create',
  list: 'list',
  put: 'change',
  patch: 'change',
  delete: 'remove',
} as const;

const LIST = new Intl.ListFormat('en-GB');

/** In the order of the modules. */
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
  const verbs = Object.entries(VERBS).flatMap(([of, verb]) => (methods.has(of) ? [verb] : []));
  if (verbs.every((verb) => verb === 'list')) return `Read ${name}.`;
  const all = LIST.format(new Set(verbs));
  return `${all.charAt(0).toUpperCase()}${all.slice(1)} ${name}.`;
}
