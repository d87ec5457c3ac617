import type { OpenAPIObject } from '@nestjs/swagger';
import { parse, parseNumberAndBigInt, stringify } from 'lossless-json';
import { isJson } from './sample-request.js';

/** A type without the references to what is elsewhere in a document. */
type Resolved<T> = T extends { $ref: string }
  ? never
  : T extends string
    ? T
    : { readonly [Key in keyof T]: Resolved<T[Key]> };

type Operation = NonNullable<Resolved<OpenAPIObject>['paths'][string]['get']>;
export type Answer = NonNullable<Operation['responses'][string]>;
export type Parameter = NonNullable<Operation['parameters']>[number];
type Content = NonNullable<Answer['content']>[string];
export type Examples = NonNullable<Content['examples']>;

/** What the document refers to by name has this name as its `title`. */
export type Schema = NonNullable<Content['schema']>;

/** An operation and where it is. */
export interface Endpoint extends Operation {
  readonly method: string;
  readonly path: string;
  readonly operationId: string;
  readonly summary: string;
  readonly responses: Readonly<Record<string, Answer>>;
  /** The scope that a token needs. Every operation of this service has one. */
  readonly 'x-required-scope'?: string;
}

interface Document {
  readonly info: { readonly title: string; readonly version: string; readonly description: string };
  readonly paths: Readonly<Record<string, Readonly<Record<string, Endpoint>>>>;
  readonly tags?: readonly { readonly name: string; readonly description?: string }[];
  readonly components?: { readonly schemas?: Readonly<Record<string, Schema>> };
}

/** The operations of a tag, with what the document says of the tag. */
export interface Group {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly endpoints: readonly Endpoint[];
}

const JSON_TYPE = 'application/json';
const SCHEMAS = '#/components/schemas/';

/** Reads an OpenAPI 3.1 document. Integers become bigints, which keep their digits. */
export function readDocument(text: string) {
  const {
    info,
    paths,
    tags = [],
    components,
  } = withoutReferences(parse(text, undefined, parseNumberAndBigInt)) as Document;
  const endpoints = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) =>
      Object.assign(operation, { method, path }),
    ),
  );
  const names = new Set([
    ...tags.map(({ name }) => name),
    ...endpoints.map((endpoint) => tagOf(endpoint)),
  ]);
  const groups = [...names].map((name) => ({
    name,
    title: name.charAt(0).toUpperCase() + name.slice(1),
    description: tags.find((tag) => tag.name === name)?.description ?? '',
    endpoints: endpoints.filter((endpoint) => tagOf(endpoint) === name),
  }));
  return { info, endpoints, groups, schemas: Object.entries(components?.schemas ?? {}) };
}

function tagOf({ tags = [] }: Endpoint): string {
  return tags[0] ?? 'Operations';
}

/** The scopes that operations need. */
export function scopesOf(endpoints: readonly Endpoint[]): string[] {
  const scopes = endpoints.flatMap((endpoint) => endpoint['x-required-scope'] ?? []);
  return [...new Set(scopes)].toSorted();
}

/** The path of a request that changes nothing, which tells whether a token is valid. */
export function trialOf(endpoints: readonly Endpoint[]): string {
  // The last of a resource is that of a single row.
  const lookUp = endpoints.findLast(({ method }) => method === 'get')?.path ?? '/';
  return lookUp.replaceAll(/\{\w+\}/g, '0');
}

/** A failure as the examples of a document have it. */
export type Failure = ReturnType<typeof failuresOf>[number];

/** The failures of an operation, by number. */
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

/** The answers of an operation other than failures, with their statuses. */
export function answersOf({ responses }: Endpoint): [status: string, Answer][] {
  return Object.entries(responses).filter(([status]) => Number(status) < 400);
}

/** The content as JSON if there is any, with the most particular media type: JSON alone does not say what it is. */
export function mainContent({ content = {} }: Pick<Answer, 'content'> = {}) {
  const all = Object.entries(content);
  const [type, main]: [string, Content] = all.find(
    ([name]) => name !== JSON_TYPE && isJson(name),
  ) ??
    all[0] ?? ['', {}];
  return { type, schema: main.schema ?? {}, examples: main.examples ?? {} };
}

/** The members of an object with this format, such as `int64`. */
export function membersWithFormat({ properties = {} }: Schema, format: string): string[] {
  return Object.entries(properties)
    .filter(([, schema]) => schema.format === format)
    .map(([name]) => name);
}

/** An example as it is sent: a media type other than JSON has text. */
export function exampleText(type: string, value: unknown, indent?: number): string | undefined {
  return typeof value === 'string' && type !== JSON_TYPE
    ? value
    : stringify(value, undefined, indent);
}

export function firstExample(examples: Examples = {}): unknown {
  return Object.values(examples)[0]?.value;
}

/** What a request can have as the value of a parameter. */
export function parameterExample({ schema, example, examples }: Parameter): string | undefined {
  const value: unknown = firstExample(examples) ?? example ?? schema?.example;
  return value === undefined ? undefined : valueText(value);
}

/** A value that is shown as it is typed into a field: text without quotation marks. */
export function valueText(value: unknown): string {
  return typeof value === 'string' ? value : (stringify(value) ?? '');
}

/** The document with what its `$ref`s name in their place. It has no circles. */
function withoutReferences(document: unknown): unknown {
  const expand = (node: unknown): unknown => {
    if (Array.isArray(node)) return node.map(expand);
    if (typeof node !== 'object' || node === null) return node;
    if ('$ref' in node) return targetOf(String(node.$ref));
    return Object.fromEntries(Object.entries(node).map(([key, member]) => [key, expand(member)]));
  };
  const targetOf = (pointer: string): unknown => {
    const target = pointer
      .split('/')
      .slice(1)
      .reduce<unknown>((node, key) => (node as Record<string, unknown>)[key], document);
    const expanded = expand(target);
    return pointer.startsWith(SCHEMAS)
      ? Object.assign(expanded as object, { title: pointer.slice(SCHEMAS.length) })
      : expanded;
  };
  return expand(document);
}
