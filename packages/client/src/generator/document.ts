export interface OpenApiDocument {
  readonly paths: Readonly<Record<string, PathItem>>;
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
  readonly schemas: {
    readonly new: string;
    readonly created: string;
    readonly stored: string;
    readonly replacement: string;
    readonly patch: string;
  };
}

export interface Feed {
  /** Its path without the slash at the beginning. */
  readonly name: string;
  readonly schema: string;
}

const JSON_TYPE = 'application/json';

/** The resources of a document: what has the usual operations on the paths `/{name}` and `/{name}/{id}`. */
export function resourcesOf({ paths }: OpenApiDocument): readonly Resource[] {
  return Object.entries(paths).flatMap(([path, all]) => {
    const [, name] = /^\/([^/{}]+)$/.exec(path) ?? [];
    const one = paths[`${path}/{id}`];
    const noun = /^create([A-Z]\w*)$/.exec(all.post?.operationId ?? '')?.[1];
    const schemas = {
      new: nameOf(bodyOf(all.post)),
      created: nameOf(responseOf(all.post)),
      stored: nameOf(responseOf(one?.get)),
      replacement: nameOf(bodyOf(one?.put)),
      patch: nameOf(bodyOf(one?.patch)),
    };
    const isWhole = Object.values(schemas).every((schema) => schema !== undefined);
    if (name === undefined || noun === undefined || !isWhole) return [];
    return [{ name, noun, schemas: schemas as Resource['schemas'] }];
  });
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

/** The properties with 64 bits of what each list has, also inside of other properties. The types alone do not tell which numbers to read so. */
export function int64MembersOf(
  document: OpenApiDocument,
): Readonly<Record<string, readonly string[]>> {
  const lists = Object.entries(document.paths).flatMap(([path, { get }]) => {
    const items = responseOf(get)?.items;
    if (items === undefined || path.includes('{')) return [];
    const properties = [...schemasIn(document, items)].flatMap((schema) =>
      Object.entries(schema.properties ?? {}),
    );
    const int64 = properties.filter(([, schema]) => isInt64(schema)).map(([name]) => name);
    return [[path.slice(1), [...new Set(int64)]] as const];
  });
  return Object.fromEntries(lists);
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
