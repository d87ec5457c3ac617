/** How CSV writes the values of a column. `json` is everything that is neither text, a number nor a boolean. */
export type ColumnType = 'text' | 'integer' | 'number' | 'boolean' | 'json';

export interface Column {
  readonly name: string;
  readonly type: ColumnType;
  /** For a create. */
  readonly isOptional: boolean;
}

/** A query parameter of an export. */
export interface Filter {
  readonly name: string;
  readonly type: ColumnType;
  readonly description: string;
}

/** What can be exported. */
export interface Resource {
  /** In the plural, as in its paths. */
  readonly name: string;
  /** In the order of the schema. */
  readonly columns: readonly Column[];
  readonly filters: readonly Filter[];
  /** Where the service makes the ids, there is no import: a file without ids could not be sent again. */
  readonly isImportable: boolean;
  /** A record in JSON. */
  readonly example: string;
}

/** What is read of an OpenAPI document. */
export interface OpenApiDocument {
  readonly paths: Readonly<Record<string, { readonly get?: Operation; readonly post?: Operation }>>;
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> };
}

interface Operation {
  readonly 'x-required-scope'?: string;
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: { readonly content?: Content };
  readonly responses: Readonly<Record<string, { readonly content?: Content }>>;
}

type Content = Readonly<Record<string, { readonly schema: Schema }>>;

interface Parameter {
  readonly name: string;
  readonly in: string;
  readonly description: string;
  readonly schema: Schema;
}

interface Schema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly example?: unknown;
}

/** The resources of a document: what has the paths `/{name}/export` and `/{name}/{id}`. */
export function resourcesOf(document: OpenApiDocument): readonly Resource[] {
  const { paths } = document;
  const resolve = (schema: Schema | undefined) => resolved(document, schema);
  return Object.entries(paths).flatMap(([path, { get }]) => {
    const [, name] = /^\/([^/]+)\/export$/.exec(path) ?? [];
    const one = paths[`/${name}/{id}`]?.get?.responses['200']?.content?.['application/json'];
    const { properties } = resolve(one?.schema);
    if (name === undefined || !get || !properties) return [];
    const isImportable = paths[`/${name}/import`]?.post !== undefined;
    const created = paths[`/${name}`]?.post?.requestBody?.content?.['application/json'];
    // Answers have more: what the database fills in.
    const { required = [] } = resolve(created?.schema);
    const members = Object.entries(properties);
    const columns = members.map(([member, schema]) => ({
      name: member,
      type: typeOf(document, schema),
      isOptional: !required.includes(member),
    }));
    const filters = (get.parameters ?? [])
      .filter((parameter) => parameter.in === 'query' && parameter.name !== 'after')
      .map((parameter) => ({
        name: parameter.name,
        type: typeOf(document, parameter.schema),
        description: parameter.description,
      }));
    const examples = members.map(([member, schema]) => [member, resolve(schema).example]);
    const example = JSON.stringify(Object.fromEntries(examples));
    return [{ name, columns, filters, isImportable, example }];
  });
}

/** All scopes that operations of a document need. */
export function scopesOf({ paths }: OpenApiDocument): readonly string[] {
  const operations = Object.values(paths).flatMap((path) => Object.values(path));
  const scopes = operations.map((operation) => operation?.['x-required-scope']);
  return [...new Set(scopes)].filter((scope) => scope !== undefined).toSorted();
}

/** The type of the values of a schema. */
export function typeOf(document: OpenApiDocument, schema: Schema): ColumnType {
  const types = [resolved(document, schema).type ?? []].flat().filter((type) => type !== 'null');
  const [type] = types.length === 1 ? types : [];
  if (type === 'string') return 'text';
  return type === 'integer' || type === 'number' || type === 'boolean' ? type : 'json';
}

function resolved(document: OpenApiDocument, schema: Schema | undefined): Schema {
  if (schema?.$ref === undefined) return schema ?? {};
  const name = schema.$ref.replace('#/components/schemas/', '');
  return resolved(document, document.components.schemas[name]);
}
