export interface OpenApiDocument {
  readonly paths: Readonly<Record<string, PathItem>>;
  /** What the service sends, by the name of the message. */
  readonly webhooks?: Readonly<Record<string, unknown>>;
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> };
}

export const METHODS = ['get', 'post', 'put', 'patch', 'delete'] as const;

export type PathItem = Readonly<Partial<Record<(typeof METHODS)[number], Operation>>> & {
  /** Of all its operations. */
  readonly parameters?: readonly Parameter[];
};

export interface Parameter {
  readonly name?: string;
  readonly in?: string;
  readonly description?: string;
  /** Whether each item of a list is a parameter of its own, as by default in a query. */
  readonly explode?: boolean;
  readonly schema?: Schema;
}

export interface Operation {
  readonly operationId?: string;
  readonly 'x-required-scope'?: string | readonly string[];
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: { readonly content: Content };
  readonly responses: Readonly<Record<string, { readonly content?: Content }>>;
}

type Content = Readonly<Record<string, { readonly schema: Schema }>>;

export interface Schema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly format?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly additionalProperties?: Schema | boolean;
  readonly items?: Schema;
  readonly allOf?: readonly Schema[];
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly required?: readonly string[];
  readonly example?: unknown;
}

export interface Resource {
  /** In the plural, as in the paths. */
  readonly name: string;
  /** In the singular, such as `ToolBox`. */
  readonly noun: string;
  /** The operations that it has, by the method of the client. */
  readonly operations: Readonly<Record<ResourceMethod, Operation | undefined>>;
  readonly schemas: {
    readonly new: string | undefined;
    readonly created: string | undefined;
    readonly stored: string;
    readonly replacement: string | undefined;
    readonly patch: string | undefined;
  };
}

export type ResourceMethod =
  'create' | 'get' | 'list' | 'replace' | 'patch' | 'remove' | 'import' | 'export';

export interface Feed {
  /** Its path without the slash at the beginning. */
  readonly name: string;
  readonly schema: string;
}

const JSON_TYPE = 'application/json';

const NDJSON_TYPE = 'application/x-ndjson';

/** The resources of a document: what has an `id`, and a list at `/{name}` or the path `/{name}/{id}`. */
export function resourcesOf(document: OpenApiDocument): readonly Resource[] {
  const { paths } = document;
  const feeds = new Set(feedReadsOf(document).map(({ name }) => name));
  const names = Object.keys(paths)
    .flatMap((path) => /^\/([^{}]+?)(?:\/\{id\})?$/.exec(path)?.[1] ?? [])
    .filter((name) => !name.includes('/') || `/${name}/{id}` in paths);
  return [...new Set(names)].flatMap((name) => {
    const { post, get: list } = paths[`/${name}`] ?? {};
    const { get, put, patch, delete: remove } = paths[`/${name}/{id}`] ?? {};
    const [one, item] = [nameOf(responseOf(get)), nameOf(responseOf(list)?.items)];
    const stored = one ?? item;
    if (stored === undefined || !hasId(document, stored) || feeds.has(name)) return [];
    const operations = {
      create: contentOf(post),
      get: one === undefined ? undefined : get,
      list: item === undefined ? undefined : list,
      replace: contentOf(put),
      patch: contentOf(patch),
      remove,
      import: linesOf(paths[`/${name}/import`]?.post),
      export: linesOf(paths[`/${name}/export`]?.get),
    };
    const { create, replace, patch: change } = operations;
    const schemas = {
      new: nameOf(bodyOf(create)),
      created: nameOf(responseOf(create)),
      stored,
      replacement: nameOf(bodyOf(replace)),
      patch: nameOf(bodyOf(change)),
    };
    const noun = /^create([A-Z]\w*)$/.exec(create?.operationId ?? '')?.[1] ?? stored;
    return [{ name, noun, operations, schemas }];
  });
}

function hasId(document: OpenApiDocument, name: string): boolean {
  const { properties = {}, allOf = [] } = resolved(document, document.components.schemas[name]);
  return 'id' in properties || allOf.some((part) => hasId(document, nameOf(part) ?? ''));
}

/** An operation, if it sends and returns a schema with a name. */
function contentOf(operation: Operation | undefined): Operation | undefined {
  const isWhole = nameOf(bodyOf(operation)) && nameOf(responseOf(operation));
  return isWhole === undefined ? undefined : operation;
}

/** An operation, if its response has lines of JSON. */
function linesOf(operation: Operation | undefined): Operation | undefined {
  return operation?.responses['200']?.content?.[NDJSON_TYPE] && operation;
}

export function idempotentCreatesOf({ paths }: OpenApiDocument): readonly string[] {
  return Object.entries(paths)
    .filter(([, { post }]) => post?.parameters?.some(({ name }) => name === 'Idempotency-Key'))
    .map(([path]) => path.slice(1));
}

export function feedsOf(document: OpenApiDocument): readonly Feed[] {
  return feedReadsOf(document).flatMap(({ name, get }) => {
    const schema = nameOf(responseOf(get)?.items);
    return schema === undefined ? [] : [{ name, schema }];
  });
}

/** The feeds of a document: what can be followed as a stream of events, and has a latest position. */
export function feedReadsOf({ paths }: OpenApiDocument) {
  return Object.entries(paths).flatMap(([path, { get }]) => {
    const isStream = get?.responses['200']?.content?.['text/event-stream'] !== undefined;
    return isStream && paths[`${path}/latest`]?.get ? [{ name: path.slice(1), get }] : [];
  });
}

export interface DocumentedOperation {
  readonly method: (typeof METHODS)[number];
  readonly path: string;
  readonly operation: Operation;
  /** Also of its path. */
  readonly parameters: readonly Parameter[];
}

export function operationsOf({ paths }: OpenApiDocument): readonly DocumentedOperation[] {
  return Object.entries(paths).flatMap(([path, item]) =>
    METHODS.flatMap((method) => {
      const { [method]: operation, parameters = [] } = item;
      if (operation === undefined) return [];
      const all = [...parameters, ...(operation.parameters ?? [])];
      return [{ method, path, operation, parameters: all }];
    }),
  );
}

/** The operations that neither resources nor feeds have. */
export function otherOperationsOf(document: OpenApiDocument): readonly DocumentedOperation[] {
  const ofFeeds = feedsOf(document).flatMap(({ name }) => [
    document.paths[`/${name}`]?.get,
    document.paths[`/${name}/latest`]?.get,
  ]);
  const ofResources = resourcesOf(document).flatMap((each) => Object.values(each.operations));
  const known = new Set([...ofFeeds, ...ofResources]);
  return operationsOf(document).filter(({ operation }) => !known.has(operation));
}

/** The properties with 64 bits of what each list or resource has. The types alone do not tell which numbers to read so. */
export function int64PropertiesOf(
  document: OpenApiDocument,
): Readonly<Record<string, readonly string[]>> {
  const { paths } = document;
  const read = Object.entries(paths).flatMap(([path, { get }]) => {
    const items = responseOf(get)?.items;
    return items === undefined || path.includes('{') ? [] : [[path.slice(1), items] as const];
  });
  const found = resourcesOf(document).flatMap(({ name, operations: { get, list } }) => {
    const one = responseOf(get);
    return one === undefined || list ? [] : [[name, one] as const];
  });
  return Object.fromEntries(
    [...read, ...found].map(([name, schema]) => [name, int64In(document, schema)]),
  );
}

/** The names of the properties with 64 bits, also inside of other properties. */
export function int64In(document: OpenApiDocument, schema: Schema): readonly string[] {
  const properties = [...schemasIn(document, schema)].flatMap((each) =>
    Object.entries(each.properties ?? {}),
  );
  const int64 = properties.filter(([, each]) => isInt64(each)).map(([name]) => name);
  return [...new Set(int64)];
}

/** Whether it is an integer with 64 bits, or may be one. */
function isInt64({ format, anyOf = [], oneOf = [], allOf = [] }: Schema): boolean {
  return format === 'int64' || [...anyOf, ...oneOf, ...allOf].some(isInt64);
}

function schemasIn(
  document: OpenApiDocument,
  schema: Schema,
  found = new Set<Schema>(),
): ReadonlySet<Schema> {
  const whole = resolved(document, schema);
  if (found.has(whole)) return found;
  found.add(whole);
  const { properties = {}, additionalProperties: others, items } = whole;
  const { allOf = [], anyOf = [], oneOf = [] } = whole;
  const parts = [...Object.values(properties), items, others, ...allOf, ...anyOf, ...oneOf];
  for (const part of parts) if (typeof part === 'object') schemasIn(document, part, found);
  return found;
}

export function responseOf(operation: Operation | undefined): Schema | undefined {
  const { 200: ok, 201: created } = operation?.responses ?? {};
  return (ok ?? created)?.content?.[JSON_TYPE]?.schema;
}

export function bodyOf(operation: Operation | undefined): Schema | undefined {
  return operation?.requestBody?.content[JSON_TYPE]?.schema;
}

export function resolved(document: OpenApiDocument, schema: Schema = {}): Schema {
  const name = nameOf(schema);
  return name === undefined ? schema : resolved(document, document.components.schemas[name]);
}

export function nameOf(schema: Schema | undefined): string | undefined {
  return schema?.$ref?.replace('#/components/schemas/', '');
}
