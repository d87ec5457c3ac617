import type { ServiceCall } from '../runtime/resource-types.js';
import { bodyOf, int64In, nameOf, operationsOf } from './document.js';
import type { DocumentedOperation, OpenApiDocument, Parameter, Schema } from './document.js';
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
  document: OpenApiDocument,
  errors: readonly ErrorKind[],
  { idempotentCreates, others }: Plan,
): string {
  const lines = errors.map(
    ({ code, number, message }) => `  /** ${message} */\n  ${camelCase(code)}: ${number},\n`,
  );
  const operations = operationsOf(document).map(({ method, path, operation, parameters }) => {
    const body = bodyOf(operation);
    const exact = {
      path: parametersIn('path', parameters),
      query: parametersIn('query', parameters),
      body: body && exactOf(body),
    };
    return [`${method.toUpperCase()} ${path}`, exact] as const;
  });
  const calls = others.map((each) => [each.operation.operationId, callOf(document, each)]);
  return `import type { ExactOperation, ExactSchema, ServiceCall } from './resource-types.js';

/** The numbers of the service's errors. */
export const ERRORS = {
${lines.join('')}} as const;

/** The resources whose ids the service makes. */
export const IDEMPOTENT_CREATES: readonly string[] = ${JSON.stringify(idempotentCreates)};

/** What requests have, by method and path, such as \`GET /tools/{id}\`. */
export const OPERATIONS: Readonly<Record<string, ExactOperation>> = ${JSON.stringify(Object.fromEntries(operations))};

export const SCHEMAS: Readonly<Record<string, ExactSchema>> = ${JSON.stringify(mapped(document.components.schemas))};

/** The operations that neither resources nor feeds have. */
export const CALLS: Readonly<Record<string, ServiceCall>> = ${JSON.stringify(Object.fromEntries(calls))};
`;
}

function callOf(
  document: OpenApiDocument,
  { method, path, operation, parameters }: DocumentedOperation,
): ServiceCall {
  const types = Object.keys(operation.requestBody?.content ?? {});
  const responses = Object.entries(operation.responses).filter(([status]) =>
    status.startsWith('2'),
  );
  const contents = responses.map(([, { content = {} }]) => content);
  const json = contents.flatMap((content) => content['application/json']?.schema ?? []);
  const isEmpty = contents.every((content) => Object.keys(content).length === 0);
  return {
    method: method.toUpperCase() as ServiceCall['method'],
    path,
    headers: parameters.flatMap((each) => (each.in === 'header' ? (each.name ?? []) : [])),
    contentType: types.includes('application/json') ? 'application/json' : types[0],
    response: json.length > 0 ? 'json' : isEmpty ? 'none' : 'raw',
    int64: json.flatMap((schema) => int64In(document, schema)),
  };
}

function parametersIn(place: string, parameters: readonly Parameter[]): object {
  const found = parameters.filter((each) => each.in === place && each.name !== undefined);
  const entries = found.map(({ name, schema = {}, explode }) => [
    name,
    { ...exactOf(schema), isJoined: explode === false || undefined },
  ]);
  return Object.fromEntries(entries) as object;
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
