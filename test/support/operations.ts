import { readFileSync } from 'node:fs';
import { DOCUMENT } from './application.js';

export interface Parameter {
  readonly name: string;
  readonly in: string;
  readonly schema: { readonly type?: string };
}

export interface Operation {
  /** Such as `GET`. */
  readonly method: string;
  /** Such as `/plants/{id}`. */
  readonly path: string;
  readonly parameters: readonly Parameter[];
  /** The scope that its token needs. */
  readonly scope: string;
  /** The first named example of its body, if it has one. */
  readonly body: unknown;
}

interface PathItem {
  readonly [method: string]: {
    readonly parameters?: readonly Parameter[];
    readonly 'x-required-scope': string;
    readonly requestBody?: {
      readonly content: {
        readonly 'application/json'?: {
          readonly examples: Readonly<Record<string, { readonly value: unknown }>>;
        };
      };
    };
  };
}

const { paths } = JSON.parse(readFileSync(DOCUMENT, 'utf8')) as {
  paths: Record<string, PathItem>;
};

/** The operations of the committed document. */
export const OPERATIONS: readonly Operation[] = Object.entries(paths).flatMap(([path, item]) =>
  Object.entries(item).map(
    ([method, { parameters = [], requestBody, 'x-required-scope': scope }]) => ({
      method: method.toUpperCase(),
      path,
      parameters,
      scope,
      body: Object.values(requestBody?.content['application/json']?.examples ?? {})[0]?.value,
    }),
  ),
);

/** The value of the `Allow` header of a path; for `*`, of all paths and the docs page. */
export function allowOf(path: string): string {
  const operations = OPERATIONS.filter((operation) => path === '*' || operation.path === path);
  const methods = new Set(operations.map(({ method }) => method)).add('OPTIONS');
  if (path === '*' || methods.has('GET')) methods.add('GET').add('HEAD');
  return [...methods].toSorted().join(', ');
}
