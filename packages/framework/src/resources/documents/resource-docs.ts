import type { Type } from '@nestjs/common';
import { ApiOperation } from '@nestjs/swagger';
import { ERRORS } from '../../errors/common-errors.js';
import type { ErrorKind } from '../../errors/error-kind.js';

/** Named examples of a value, in the form of OpenAPI. */
export type Examples<Value extends object = object> = Readonly<
  Record<string, { readonly summary: string; readonly value: Value }>
>;

/** An example in JSON with its id: a number, a `bigint` if a number would be rounded, or a UUID. */
export interface StoredExample {
  readonly id: number | bigint | string;
  readonly [member: string]: unknown;
}

/** What the documentation says of the operations on stored rows. */
export interface StoredDocs {
  /** With an article, such as `a tool` or `an apple`. */
  readonly one: string;
  /** Such as `tools`: the path, and the tag of the operations. */
  readonly plural: string;
  /** The ends of the operation ids `createTool` and `listTools`. */
  readonly operationIds: readonly [one: string, many: string];
  /** The class with all members. */
  readonly stored: Type;
  /** Needed for `replace`. */
  readonly replacement?: Type;
  /** Needed for `patch`. */
  readonly patch?: Type;
  readonly errors: {
    readonly noSuch: ErrorKind;
    /** Further failures of creates and changes. */
    readonly others?: readonly ErrorKind[];
    /** Further failures of a removal. */
    readonly removal?: readonly ErrorKind[];
  };
  /** Whether lists can take too long: a filter searches in text (`isSearch`), or lists with filters are sorted by a column. */
  readonly hasSearch?: boolean;
  readonly examples: Examples<StoredExample>;
  /** The id of the first example, which is replaced, changed and removed: code samples send the first examples. */
  readonly changed: number | string;
  /** Without the id. */
  readonly replacements?: Examples;
  readonly patches?: Examples;
}

/**
 * What the documentation says of a resource whose clients choose the id. Requests with the examples succeed if they are sent in
 * the order of the document: create, look up, replace, change and remove.
 */
export interface ResourceDocs extends StoredDocs {
  readonly created: Type;
  /** The class of the answer to a create, by default `stored`. It has no id. */
  readonly answer?: Type;
  /** `idTaken` and `noSuch` are failures of the resource. */
  readonly errors: StoredDocs['errors'] & { readonly idTaken: ErrorKind };
  /** Two rows to import, and the beginning of a line that is refused because members are missing. */
  readonly imported: readonly [object, object];
  readonly refused: { readonly body: readonly [object, object]; readonly message: string };
}

/** What the documentation says of a resource whose ids the database makes. */
export interface GeneratedDocs extends StoredDocs {
  /** Without the members that the database fills. */
  readonly created: Type;
  /** The message for a body that is not valid. */
  readonly refused: { readonly message: string };
}

/** Failures of operations with a body. */
export const BODY_ERRORS = [
  ERRORS.bodyMissing,
  ERRORS.bodyTooLarge,
  ERRORS.tooManyBodies,
  ERRORS.tooManyAnswers,
] as const;

export function entityTagHeader(noun: string) {
  return {
    ETag: {
      description: `The entity tag of the ${noun}, for \`If-Match\` and \`If-None-Match\` (RFC 9110, section 8.8.3).`,
      schema: { type: 'string' as const },
    },
  };
}

export function mapExamples<Value extends object>(
  examples: Examples<Value>,
  change: (value: Value) => unknown,
) {
  return Object.fromEntries(
    Object.entries(examples).map(([name, { summary, value }]) => [
      name,
      { summary, value: change(value) },
    ]),
  );
}

/** What the documentation says of an operation before its details. */
export function operation(
  { plural }: Pick<StoredDocs, 'plural'>,
  operationId: string,
  summary: string,
  description: string,
): MethodDecorator {
  return ApiOperation({ operationId, tags: [plural], summary, description });
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
