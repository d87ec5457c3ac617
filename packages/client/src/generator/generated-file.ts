import { bodyOf, METHODS, nameOf } from './document.js';
import type { OpenApiDocument, Parameter, Schema } from './document.js';
import { camelCase } from './names.js';
import type { Plan } from './names.js';

export interface ErrorKind {
  /** In kebab case, such as `body-missing`. */
  readonly code: string;
  readonly number: number;
  readonly message: string;
}

/** The text of a file with what the code of all clients needs to know of the service. */
export function generatedFile(
  { paths, components }: OpenApiDocument,
  errors: readonly ErrorKind[],
  { idempotentCreates }: Plan,
): string {
  const lines = errors.map(
    ({ code, number, message }) => `  /** ${message} */\n  ${camelCase(code)}: ${number},\n`,
  );
  const operations = Object.entries(paths).flatMap(([path, item]) =>
    METHODS.flatMap((method) => {
      const { [method]: operation, parameters: shared = [] } = item;
      if (operation === undefined) return [];
      const parameters = [...shared, ...(operation.parameters ?? [])];
      const body = bodyOf(operation);
      const exact = {
        path: parametersIn('path', parameters),
        query: parametersIn('query', parameters),
        body: body && exactOf(body),
      };
      return [[`${method.toUpperCase()} ${path}`, exact] as const];
    }),
  );
  return `import type { ExactOperation, ExactSchema } from './resource-types.js';

/** The numbers of the service's errors. */
export const ERRORS = {
${lines.join('')}} as const;

/** The resources whose ids the service makes. */
export const IDEMPOTENT_CREATES: readonly string[] = ${JSON.stringify(idempotentCreates)};

/** What requests have, by method and path, such as \`GET /tools/{id}\`. */
export const OPERATIONS: Readonly<Record<string, ExactOperation>> = ${JSON.stringify(Object.fromEntries(operations))};

export const SCHEMAS: Readonly<Record<string, ExactSchema>> = ${JSON.stringify(mapped(components.schemas))};
`;
}

function parametersIn(place: string, parameters: readonly Parameter[]): object {
  const found = parameters.filter((each) => each.in === place && each.name !== undefined);
  return mapped(Object.fromEntries(found.map(({ name, schema = {} }) => [name, schema])));
}

function mapped(schemas: Readonly<Record<string, Schema>>): object {
  return Object.fromEntries(Object.entries(schemas).map(([name, each]) => [name, exactOf(each)]));
}

/** What is checked of a schema. The type that it has for the client: `ExactSchema`. */
function exactOf(schema: Schema): object {
  const { type, format, properties, additionalProperties: others, items, allOf } = schema;
  const anyOf = [...(schema.anyOf ?? []), ...(schema.oneOf ?? [])];
  return {
    ref: nameOf(schema),
    // A bigint and a number are of one type here.
    type: type && [type].flat().map((each) => (each === 'integer' ? 'number' : each)),
    format,
    properties: properties && mapped(properties),
    others: typeof others === 'object' ? exactOf(others) : undefined,
    items: items && exactOf(items),
    allOf: allOf?.map(exactOf),
    anyOf: anyOf.length > 0 ? anyOf.map(exactOf) : undefined,
  };
}
