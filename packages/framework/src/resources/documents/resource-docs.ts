import type { Type } from '@nestjs/common';
import { ApiOperation } from '@nestjs/swagger';
import { ERRORS } from '../../errors/common-errors.js';
import type { ErrorKind } from '../../errors/error-kind.js';
import { NO_OTHERS } from '../../http/body/dto.pipe.js';
import { keepsRemovedRows } from '../properties/dto-of.js';
import { KEY_TYPES } from '../properties/key-type.js';

/** Named examples of a value, in the form of OpenAPI. */
type Examples<Value extends object = object> = Readonly<
  Record<string, { readonly summary: string; readonly value: Value }>
>;

/** A row in JSON with its id: a number, a `bigint` if a number would be rounded, or a UUID. */
interface ExampleRow {
  readonly id: number | bigint | string;
  readonly [property: string]: unknown;
}

/** Requests that succeed if they are sent in the order of the document: create, look up, replace, change and remove. */
export interface ResourceExamples {
  /** Each with an id that no other example has. The first is replaced, changed and removed: code samples send the first examples. */
  readonly create: Examples<ExampleRow>;
  /** Without the id. */
  readonly replace?: Examples | undefined;
  readonly patch?: Examples | undefined;
  /** Two rows with further ids. The next two ids are free, too. */
  readonly import?: readonly [ExampleRow, ExampleRow] | undefined;
}

/** What the documentation cannot take from the methods of a controller. */
export interface ResourceDocs {
  /** With an article, such as `a tool` or `an apple`. */
  readonly one: string;
  /** Such as `tools`: the tag of the operations and, with hyphens for spaces, the path. */
  readonly plural: string;
  /** The class of a row in responses. A method with another one says so: `@ApiOkResponse({ type: … })`. */
  readonly dto: Type;
  readonly errors: {
    /** If clients choose the ids. */
    readonly idTaken?: ErrorKind;
    readonly noSuch: ErrorKind;
    /** Further errors of creates and changes. */
    readonly others?: readonly ErrorKind[];
    /** Further errors of a removal. */
    readonly removal?: readonly ErrorKind[];
  };
  /** Whether lists can take too long: a filter searches in text (`isSearch`), or lists with filters are sorted by a column. */
  readonly hasSearch?: boolean;
  readonly examples: ResourceExamples;
}

/** What the method of an operation says: its classes and status, and which header fields it heeds. */
export interface Method {
  readonly status: number;
  readonly body: Type;
  readonly response: Type;
  /** Of the query, if it has one. */
  readonly query: Type | undefined;
  readonly hasPrecondition: boolean;
  readonly hasIdempotencyKey: boolean;
}

export type Document = (words: Words, method: Method) => readonly MethodDecorator[];

export type Words = ReturnType<typeof wordsOf>;

/**
 * @param isRestorable whether a removed row can be restored
 * @param path of the controller
 * @param isImportable whether there is an import
 */
export function wordsOf(
  docs: ResourceDocs,
  isRestorable = false,
  path = docs.plural.replaceAll(' ', '-'),
  isImportable = true,
) {
  const { one, plural, errors, examples } = docs;
  const noun = one.replace(/^an? /, '');
  const rows = Object.values(examples.create).map(({ value }) => value);
  const [first = { id: 1 }] = rows;
  const needed = Object.keys(first).find(
    (name) => name !== 'id' && rows.every((row) => name in row),
  );
  return {
    ...docs,
    noun,
    rows,
    first,
    key: KEY_TYPES[typeof first.id === 'string' ? 'uuid' : 'bigint'],
    isIdChosen: errors.idTaken !== undefined,
    isRestorable,
    isImportable,
    keepsRemoved: isRestorable || keepsRemovedRows(docs.dto),
    path,
    // The ends of operation ids: `createTool`, `listTools`.
    Single: pascalCase(noun),
    Many: pascalCase(plural),
    missing: needed === undefined ? ERRORS.bodyNotValid.message : `${needed} is missing`,
    searchErrors: docs.hasSearch === true ? [ERRORS.searchTooSlow, ERRORS.tooManySearches] : [],
    entityTag: headers({
      ETag: `The entity tag of the ${noun}, for \`If-Match\` and \`If-None-Match\` (RFC 9110, section 8.8.3).`,
    }),
  };
}

export const BODY_ERRORS = [
  ERRORS.bodyMissing,
  ERRORS.bodyTooLarge,
  ERRORS.tooManyBodies,
  ERRORS.tooManyAnswers,
] as const;

export function headers(descriptions: Readonly<Record<string, string>>) {
  return Object.fromEntries(
    Object.entries(descriptions).map(([name, description]) => [
      name,
      { description, schema: { type: 'string' as const } },
    ]),
  );
}

export function mapExamples<Value extends object>(
  examples: Examples<Value> | undefined,
  change: (value: Value) => unknown,
) {
  return Object.fromEntries(
    Object.entries(examples ?? {}).map(([name, { summary, value }]) => [
      name,
      { summary, value: change(value) },
    ]),
  );
}

/** What `@ApiOperation()` of the method says has priority. */
export function operation(
  { plural }: Words,
  operationId: string,
  summary: string,
  description: string,
): MethodDecorator {
  return (target, name, descriptor) => {
    const own = Reflect.getMetadata('swagger/apiOperation', descriptor.value as object) as
      object | undefined;
    const given = Object.entries(own ?? {}).filter(([, value]) => value !== '');
    const texts = { operationId, tags: [plural], summary, description };
    ApiOperation({ ...texts, ...Object.fromEntries(given) })(target, name, descriptor);
  };
}

/** The properties in the schema of a class. */
export function propertiesIn({ prototype }: Type): readonly string[] {
  const names = Reflect.getMetadata('swagger/apiModelPropertiesArray', prototype as object) as
    readonly string[] | undefined;
  return names?.map((name) => name.slice(1)) ?? [];
}

/** Whether requests with other parameters than the class of the query has get 400. */
export function rejectsOthers(query: Type | undefined): boolean {
  return query !== undefined && Reflect.hasMetadata(NO_OTHERS, query);
}

export function unsupported(types: readonly string[], field: string) {
  const message = `the body must be ${types.join(' or ')} in UTF-8, without Content-Encoding`;
  return [
    { ...ERRORS.unsupportedMediaType, message },
    `${message}; the request has Content-Type "text/plain"`,
    [field],
  ] as const;
}

/** The name of the schema of a DTO, if `@ApiSchema()` gives it the name of the class without `Dto`. */
export function schemaName(dto: Type): string {
  return dto.name.replace(/Dto$/, '');
}

export function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

function pascalCase(text: string): string {
  return text.split(/[ -]/).map(capital).join('');
}
