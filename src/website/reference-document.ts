import { parse, parseNumberAndBigInt, stringify } from 'lossless-json';

/* The parts of an OpenAPI 3.1 document that the reference shows. Integers are bigints, so they keep their digits. */

export interface Schema {
  readonly type?: string | readonly string[];
  readonly items?: Schema;
  readonly format?: string;
  readonly description?: string;
  readonly minimum?: bigint | number;
  readonly maximum?: bigint | number;
  readonly example?: unknown;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: unknown;
}

type Examples = Readonly<Record<string, { readonly summary?: string; readonly value: unknown }>>;

interface Content {
  readonly schema: Schema;
  readonly examples?: Examples;
}

interface Parameter extends Content {
  readonly name: string;
  readonly in: string;
  readonly required?: boolean;
  readonly description?: string;
  readonly example?: unknown;
}

interface Body {
  readonly description?: string;
  readonly content?: Readonly<Record<string, Content>>;
}

export interface Answer extends Body {
  readonly headers?: Readonly<Record<string, { readonly description?: string }>>;
  readonly links?: Readonly<Record<string, { readonly operationId: string }>>;
}

/** An operation and where it is. */
export interface Endpoint {
  readonly method: string;
  readonly path: string;
  readonly operationId: string;
  readonly summary: string;
  readonly description?: string;
  readonly tags?: readonly string[];
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: Body;
  readonly responses: Readonly<Record<string, Answer>>;
}

interface Document {
  readonly info: { readonly title: string; readonly version: string; readonly description: string };
  readonly paths: Readonly<Record<string, Readonly<Record<string, Endpoint>>>>;
}

const JSON_TYPE = 'application/json';

/** Reads an OpenAPI 3.1 document. */
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
export interface Failure {
  readonly status: string;
  readonly number: bigint;
  readonly meaning: string;
  readonly body: unknown;
}

/** The failures of an operation, by status and number. */
export function failuresOf({ responses }: Endpoint): Failure[] {
  return Object.entries(responses).flatMap(([status, { content }]) =>
    Number(status) < 400
      ? []
      : Object.values(content?.[JSON_TYPE]?.examples ?? {})
          .map(({ summary = '', value }) => ({
            status,
            number: (value as { readonly error: bigint }).error,
            meaning: summary,
            body: value,
          }))
          .toSorted((one, other) => Number(one.number - other.number)),
  );
}

/** The answers of an operation that succeeds, with their statuses. */
export function successesOf({ responses }: Endpoint): [status: string, Answer][] {
  return Object.entries(responses).filter(([status]) => status.startsWith('2'));
}

/** The content with the media type that comes first. */
export function firstContent({ content = {} }: Body = {}) {
  const [type, first]: [string, Content] = Object.entries(content)[0] ?? ['', { schema: {} }];
  return { type, ...first };
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

export function firstExample(examples: Examples = {}): unknown {
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
