import { parse, parseNumberAndBigInt, stringify } from 'lossless-json';
import { isJson } from '../../public/code-samples/request.js';

type Named<T> = Readonly<Record<string, T>>;

/** What the document refers to by name has this name as its `title`. */
export interface Schema {
  readonly title?: string;
  readonly type?: string | readonly string[];
  readonly format?: string;
  readonly description?: string;
  readonly minimum?: number | bigint;
  readonly maximum?: number | bigint;
  readonly minLength?: bigint;
  readonly maxLength?: bigint;
  readonly minItems?: bigint;
  readonly maxItems?: bigint;
  readonly enum?: readonly unknown[];
  readonly default?: unknown;
  readonly example?: unknown;
  readonly items?: Schema;
  readonly properties?: Named<Schema>;
  readonly required?: readonly string[];
  readonly additionalProperties?: unknown;
  readonly allOf?: readonly Schema[];
}

export type Examples = Named<{ readonly summary?: string; readonly value?: unknown }>;

interface Content {
  readonly schema?: Schema;
  readonly example?: unknown;
  readonly examples?: Examples;
}

export interface ResponseObject {
  readonly description?: string;
  readonly content?: Named<Content>;
  readonly headers?: Named<{ readonly description?: string }>;
  readonly links?: Named<{
    readonly operationId?: string;
    /** Values are expressions, such as `$response.body#/id`. */
    readonly parameters?: Named<string>;
  }>;
}

export interface Parameter {
  readonly name: string;
  readonly in: string;
  readonly required?: boolean;
  readonly description?: string;
  readonly schema?: Schema;
  readonly example?: unknown;
  readonly examples?: Examples;
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
  readonly requestBody?: { readonly description?: string; readonly content: Named<Content> };
  readonly responses: Named<ResponseObject>;
  /** The scope that a token needs, or several, of which it needs one. Only operations that need no token have none. */
  readonly 'x-required-scope'?: string | readonly string[];
}

interface Info {
  readonly title: string;
  readonly version: string;
  readonly description?: string;
  readonly license?: { readonly name: string };
}

interface PathItem extends Named<unknown> {
  /** Of every operation of the path. */
  readonly parameters?: readonly Parameter[];
}

interface OpenApi {
  readonly info: Info;
  readonly paths: Named<PathItem>;
  readonly tags?: readonly { readonly name: string; readonly description?: string }[];
  readonly components?: { readonly schemas?: Named<Schema> };
  readonly servers?: readonly { readonly url: string }[];
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
/** What else a path has is no operation. */
const METHODS = new Set(['get', 'put', 'post', 'delete', 'options', 'head', 'patch', 'trace']);

/** What the page shows of an OpenAPI document. */
export type ApiDocument = ReturnType<typeof readDocument>;

/** Reads an OpenAPI 3.1 document. Integers become bigints, which keep their digits. */
export function readDocument(text: string) {
  const {
    info,
    paths,
    tags = [],
    components,
    servers = [],
  } = withoutReferences(parse(text, undefined, parseNumberAndBigInt)) as OpenApi;
  const endpoints = Object.entries(paths).flatMap(([path, item]) =>
    Object.keys(item)
      .filter((key) => METHODS.has(key))
      .map((method) => endpointOf(path, method, item)),
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
  return {
    info,
    /** The address of the service, if the document has one that is absolute. */
    base: servers.find(({ url }) => URL.canParse(url))?.url.replace(/\/$/, ''),
    endpoints,
    groups,
    schemas: Object.entries(components?.schemas ?? {}),
  };
}

/** An operation need not have a name, nor a title. */
function endpointOf(path: string, method: string, item: PathItem): Endpoint {
  const operation = item[method] as Partial<Endpoint>;
  return {
    operationId: `${method}${path.replaceAll(/\W+/g, '-')}`,
    summary: `${method.toUpperCase()} ${path}`,
    responses: {},
    ...operation,
    parameters: [...(item.parameters ?? []), ...(operation.parameters ?? [])],
    method,
    path,
  };
}

function tagOf({ tags = [] }: Endpoint): string {
  return tags[0] ?? 'Operations';
}

/** The scopes that operations need. */
export function scopesOf(endpoints: readonly Endpoint[]): string[] {
  const scopes = endpoints.flatMap((endpoint) => endpoint['x-required-scope'] ?? []);
  return [...new Set(scopes)].toSorted();
}

/** RFC 9562, section 5.9: no row has it. */
const NIL_UUID = '00000000-0000-0000-0000-000000000000';

/** The path of a request that changes nothing, which tells whether a token is valid. */
export function trialOf(endpoints: readonly Endpoint[]): string {
  const reads = endpoints.filter(({ method }) => method === 'get');
  // A look-up of a single row is the cheapest request.
  const read = reads.find((one) => one.path.endsWith('}')) ?? reads.at(-1);
  const isUuid = (name: string) =>
    read?.parameters?.some((one) => one.name === name && one.schema?.format === 'uuid');
  return (read?.path ?? '/').replaceAll(/\{(\w+)\}/g, (_, name: string) =>
    isUuid(name) ? NIL_UUID : '0',
  );
}

/** An error as the examples of a document have it. */
export type ErrorExample = ReturnType<typeof errorsOf>[number];

/** The errors of an operation that have a number as `error`, by this number. */
export function errorsOf({ responses }: Endpoint) {
  return Object.entries(responses).flatMap(([status, { content }]) =>
    Number(status) < 400
      ? []
      : Object.values(content?.[JSON_TYPE]?.examples ?? {})
          .flatMap(({ summary: meaning = '', value }) => {
            const body = value as { readonly error?: unknown } | undefined;
            const number = body?.error;
            return typeof number === 'bigint' ? [{ status, number, meaning, body }] : [];
          })
          .toSorted((one, other) => Number(one.number - other.number)),
  );
}

/** The responses of an operation other than errors, with their statuses. */
export function successesOf({ responses }: Endpoint): [status: string, ResponseObject][] {
  return Object.entries(responses).filter(([status]) => Number(status) < 400);
}

/** The content as JSON if there is any, with the most particular media type: JSON alone does not say what it is. */
export function mainContent({ content = {} }: Pick<ResponseObject, 'content'> = {}) {
  const all = Object.entries(content);
  const [type, main]: [string, Content] = all.find(
    ([name]) => name !== JSON_TYPE && isJson(name),
  ) ??
    all[0] ?? ['', {}];
  const only: Examples = main.example === undefined ? {} : { only: { value: main.example } };
  return { type, schema: main.schema ?? {}, examples: main.examples ?? only };
}

/** A schema with what it takes from others. A reference beside a description of its own is written as such an `allOf`. */
export function wholeSchema({ allOf = [], ...own }: Schema): Schema {
  const [only, ...others] = allOf.map(wholeSchema);
  if (only === undefined) return own;
  if (others.length === 0 && own.properties === undefined) return { ...only, ...own };
  const parts = [only, ...others, own];
  return {
    ...own,
    properties: Object.assign({}, ...parts.map(({ properties }) => properties)) as Named<Schema>,
    required: parts.flatMap(({ required = [] }) => required),
  };
}

/** The properties of an object with this format, such as `int64`. */
export function propertiesWithFormat(schema: Schema, format: string): string[] {
  const { properties = {} } = wholeSchema(schema);
  return Object.entries(properties)
    .filter(([, property]) => property.format === format)
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

/** The document with what its `$ref`s name in their place. What contains itself is there once, then only its name. */
function withoutReferences(document: unknown): unknown {
  const expand = (node: unknown, within: readonly string[]): unknown => {
    if (Array.isArray(node)) return node.map((item) => expand(item, within));
    if (typeof node !== 'object' || node === null) return node;
    if ('$ref' in node) return targetOf(String(node.$ref), within);
    return Object.fromEntries(
      Object.entries(node).map(([key, property]) => [key, expand(property, within)]),
    );
  };
  const targetOf = (pointer: string, within: readonly string[]): unknown => {
    const title = pointer.startsWith(SCHEMAS) ? { title: pointer.slice(SCHEMAS.length) } : {};
    if (within.includes(pointer)) return title;
    const target = pointer
      .split('/')
      .slice(1)
      .reduce<unknown>((node, key) => (node as Record<string, unknown>)[key], document);
    return Object.assign(expand(target, [...within, pointer]) as object, title);
  };
  return expand(document, []);
}
