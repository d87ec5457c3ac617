import { bodyOf, feedReadsOf, resolved, responseOf } from '@resource-service/client/document';
import type { OpenApiDocument, Operation, Schema } from '@resource-service/client/document';

export type { OpenApiDocument } from '@resource-service/client/document';

/** How CSV writes the values of a column. `json` is everything that is neither text, a number nor a boolean. */
export type ColumnType = 'text' | 'integer' | 'number' | 'boolean' | 'json';

export interface Column {
  readonly name: string;
  readonly type: ColumnType;
  /** For a create. */
  readonly isOptional: boolean;
}

export interface Filter {
  readonly name: string;
  readonly type: ColumnType;
  readonly description: string;
}

export interface Resource {
  readonly name: string;
  /** In the order of the schema. */
  readonly columns: readonly Column[];
  readonly filters: readonly Filter[];
  /** Where the service makes the ids, there is no import: a file without ids could not be sent again. */
  readonly isImportable: boolean;
  readonly example: string;
}

export interface Feed {
  /** Its path without the slash at the beginning, such as `changes`. */
  readonly name: string;
  /** The parameter for the changes of one record, if it has one. */
  readonly selection: Filter | undefined;
}

/** The types of their messages, such as `tool.created`, have a resource and a kind. */
export interface Webhooks {
  readonly resources: readonly string[];
  readonly kinds: readonly string[];
}

/** The resources of a document: what has the paths `/{name}/export` and `/{name}/{id}`. */
export function resourcesOf(document: OpenApiDocument): readonly Resource[] {
  const { paths } = document;
  return Object.entries(paths).flatMap(([path, { get }]) => {
    const [, name] = /^\/([^/]+)\/export$/.exec(path) ?? [];
    const { properties } = resolved(document, responseOf(paths[`/${name}/{id}`]?.get));
    if (name === undefined || !get || !properties) return [];
    const isImportable = paths[`/${name}/import`]?.post !== undefined;
    // Responses have more: what the database fills in.
    const { required = [] } = resolved(document, bodyOf(paths[`/${name}`]?.post));
    const columns = Object.entries(properties).map(([property, schema]) => ({
      name: property,
      type: typeOf(document, schema),
      isOptional: !required.includes(property),
    }));
    const examples = Object.entries(properties).map(([property, schema]) => [
      property,
      resolved(document, schema).example,
    ]);
    const example = JSON.stringify(Object.fromEntries(examples));
    return [{ name, columns, filters: filtersOf(document, get), isImportable, example }];
  });
}

export function feedsOf(document: OpenApiDocument): readonly Feed[] {
  return feedReadsOf(document).map(({ name, get }) => ({
    name,
    selection: filtersOf(document, get)[0],
  }));
}

/** `undefined` if the service has no webhooks. */
export function webhooksOf({ paths, webhooks = {} }: OpenApiDocument): Webhooks | undefined {
  if (paths['/webhooks/{id}/deliveries'] === undefined) return undefined;
  const types = Object.keys(webhooks).map((type) => type.split('.'));
  const all = (part: 0 | 1) => [...new Set(types.map((type) => type[part]!))];
  return { resources: all(0), kinds: all(1) };
}

export function scopesOf({ paths }: OpenApiDocument): readonly string[] {
  const operations = Object.values(paths).flatMap((path) => Object.values(path));
  const scopes = operations.flatMap((one) =>
    'x-required-scope' in one ? one['x-required-scope'] : [],
  );
  return [...new Set(scopes)].filter((scope) => scope !== undefined).toSorted();
}

function filtersOf(document: OpenApiDocument, { parameters = [] }: Operation): readonly Filter[] {
  return parameters.flatMap(({ in: place, name, description = '', schema }) =>
    place === 'query' && name !== undefined && name !== 'after' && name !== 'limit'
      ? [{ name, description, type: typeOf(document, schema) }]
      : [],
  );
}

function typeOf(document: OpenApiDocument, schema: Schema | undefined): ColumnType {
  const types = [resolved(document, schema).type ?? []].flat().filter((type) => type !== 'null');
  const [type] = types.length === 1 ? types : [];
  if (type === 'string') return 'text';
  return type === 'integer' || type === 'number' || type === 'boolean' ? type : 'json';
}
