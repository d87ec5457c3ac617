import { bodyOf, METHODS, nameOf, partsOf, resolved } from './document.js';
import type { OpenApiDocument, Parameter, Schema } from './document.js';

/** The text of a file with what the client checks before it sends a request: where 64-bit integers and UUIDs are. */
export function exactFile(document: OpenApiDocument): string {
  const { paths } = document;
  const exact = new ExactSchemas(document);
  const operations = Object.entries(paths).flatMap(([path, item]) =>
    METHODS.flatMap((method) => {
      const operation = item[method];
      if (operation === undefined) return [];
      const parameters = [...(item.parameters ?? []), ...(operation.parameters ?? [])];
      const body = bodyOf(operation);
      const found = {
        ...group('path', exact.parametersOf(parameters, 'path')),
        ...group('query', exact.parametersOf(parameters, 'query')),
        ...(body && group('body', exact.reduced(body))),
      };
      return isEmpty(found) ? [] : [[`${method.toUpperCase()} ${path}`, found] as const];
    }),
  );
  return `import type { ExactOperation, ExactSchema } from './resource-types.js';

/* Where requests have 64-bit integers and UUIDs. */

/** By method and path, such as \`GET /tools/{id}\`. */
export const OPERATIONS: Readonly<Record<string, ExactOperation>> = ${JSON.stringify(Object.fromEntries(operations))};

export const SCHEMAS: Readonly<Record<string, ExactSchema>> = ${JSON.stringify(exact.named())};
`;
}

/** Reduces schemas to what is checked. The types that they have for the client: `ExactSchema`. */
class ExactSchemas {
  readonly #document: OpenApiDocument;

  constructor(document: OpenApiDocument) {
    this.#document = document;
  }

  named(): object {
    return mapped(this.#document.components.schemas, (schema) => this.reduced(schema));
  }

  parametersOf(parameters: readonly Parameter[], place: string): object {
    const schemas: Record<string, Schema> = {};
    for (const { in: where, name, schema } of parameters) {
      if (where === place && name !== undefined && schema) schemas[name] = schema;
    }
    return mapped(schemas, (schema) => this.reduced(schema));
  }

  reduced(schema: Schema): object {
    if (!this.#isExact(schema)) return {};
    const { properties = {}, items, allOf = [] } = schema;
    const { additionalProperties: more } = schema;
    const others = typeof more === 'object' ? this.reduced(more) : {};
    const alternatives = [...(schema.anyOf ?? []), ...(schema.oneOf ?? [])];
    return {
      ...(schema.$ref !== undefined && { ref: nameOf(schema) }),
      ...typed(schema),
      ...group(
        'properties',
        // Also those without such values, if others have them.
        mapped(properties, (each) => this.reduced(each), !isEmpty(others)),
      ),
      ...group('others', others),
      ...(items && group('items', this.reduced(items))),
      ...(allOf.length > 0 && { allOf: allOf.map((each) => this.reduced(each)) }),
      // Also of the alternatives without such values: a value may be meant by one of them.
      ...(alternatives.length > 0 && {
        anyOf: alternatives.map((each) => Object.assign(typed(each), this.reduced(each))),
      }),
    };
  }

  #isExact(schema: Schema, visited = new Set<Schema>()): boolean {
    const whole = resolved(this.#document, schema);
    if (visited.has(whole)) return false;
    visited.add(whole);
    const { format } = whole;
    if (format === 'int64' || format === 'uuid') return true;
    return partsOf(whole).some((each) => this.#isExact(each, visited));
  }
}

function typed({ type, format }: Schema): object {
  // A bigint and a number are of one type here.
  const types = type === undefined ? [] : [type].flat();
  const known = types.map((each) => (each === 'integer' ? 'number' : each));
  return {
    ...(known.length > 0 && { type: known }),
    ...((format === 'int64' || format === 'uuid') && { format }),
  };
}

function group(name: string, value: object): object {
  return isEmpty(value) ? {} : { [name]: value };
}

function mapped(
  schemas: Readonly<Record<string, Schema>>,
  map: (schema: Schema) => object,
  isWhole = false,
): object {
  const entries = Object.entries(schemas).map(([name, schema]) => [name, map(schema)] as const);
  return Object.fromEntries(entries.filter(([, value]) => isWhole || !isEmpty(value)));
}

function isEmpty(value: object): boolean {
  return Object.keys(value).length === 0;
}
