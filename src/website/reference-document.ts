import type { OpenAPIObject } from '@nestjs/swagger';
import { parse, parseNumberAndBigInt, stringify } from 'lossless-json';

/** A type without the references to what is elsewhere in a document. */
type Resolved<T> = T extends { $ref: string }
  ? never
  : T extends string
    ? T
    : { readonly [Key in keyof T]: Resolved<T[Key]> };

type Operation = NonNullable<Resolved<OpenAPIObject>['paths'][string]['get']>;
export type Answer = NonNullable<Operation['responses'][string]>;
type Content = NonNullable<Answer['content']>[string];
export type Schema = NonNullable<Content['schema']>;

/** An operation and where it is. */
export interface Endpoint extends Operation {
  readonly method: string;
  readonly path: string;
  readonly operationId: string;
  readonly summary: string;
  readonly responses: Readonly<Record<string, Answer>>;
}

interface Document {
  readonly info: { readonly title: string; readonly version: string; readonly description: string };
  readonly paths: Readonly<Record<string, Readonly<Record<string, Endpoint>>>>;
}

const JSON_TYPE = 'application/json';

/** Reads an OpenAPI 3.1 document. Integers become bigints, which keep their digits. */
export function readDocument(text: string) {
  const { info, paths } = withoutReferences(
    parse(text, undefined, parseNumberAndBigInt),
  ) as Document;
  const endpoints = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) =>
      Object.assign(operation, { method, path }),
    ),
  );
  return { info, endpoints };
}

/** A failure as the examples of a document have it. */
export type Failure = ReturnType<typeof failuresOf>[number];

/** The failures of an operation, by status and number. */
export function failuresOf({ responses }: Endpoint) {
  return Object.entries(responses).flatMap(([status, { content }]) =>
    Number(status) < 400
      ? []
      : Object.values(content?.[JSON_TYPE]?.examples ?? {})
          .map(({ summary: meaning = '', value }) => {
            const body = value as { readonly error: bigint };
            return { status, number: body.error, meaning, body };
          })
          .toSorted((one, other) => Number(one.number - other.number)),
  );
}

/** The answers of an operation that succeeds, with their statuses. */
export function successesOf({ responses }: Endpoint): [status: string, Answer][] {
  return Object.entries(responses).filter(([status]) => status.startsWith('2'));
}

/** The content with the media type that comes first. */
export function firstContent({ content = {} }: Pick<Answer, 'content'> = {}) {
  const [type, first]: [string, Content] = Object.entries(content)[0] ?? ['', {}];
  return { type, schema: first.schema ?? {}, examples: first.examples };
}

/** The first example as it is sent: a media type other than JSON has text. */
export function exampleText(
  { type, examples }: ReturnType<typeof firstContent>,
  indent?: number,
): string | undefined {
  const value = firstExample(examples);
  return typeof value === 'string' && type !== JSON_TYPE
    ? value
    : stringify(value, undefined, indent);
}

export function firstExample(examples: Content['examples'] = {}): unknown {
  return Object.values(examples)[0]?.value;
}

/** The document with what its `$ref`s name in their place. It has no circles. */
function withoutReferences(document: unknown): unknown {
  const expand = (node: unknown): unknown => {
    if (Array.isArray(node)) return node.map(expand);
    if (typeof node !== 'object' || node === null) return node;
    if ('$ref' in node) return expand(targetOf(String(node.$ref)));
    return Object.fromEntries(Object.entries(node).map(([key, member]) => [key, expand(member)]));
  };
  const targetOf = (pointer: string): unknown =>
    pointer
      .split('/')
      .slice(1)
      .reduce<unknown>((node, key) => (node as Record<string, unknown>)[key], document);
  return expand(document);
}
