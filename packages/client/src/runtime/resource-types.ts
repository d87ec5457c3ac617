/** A key that the client chooses, or that the service makes. */
export type Id = bigint | string;

export interface ResourceTypes {
  readonly new: object;
  /** The response to a create. */
  readonly created: object;
  /** The responses to all other operations. */
  readonly stored: { readonly id: Id };
  /** An item of a list, with the related items that it can have. */
  readonly listed: { readonly id: Id };
  readonly replacement: object;
  readonly patch: object;
  readonly listQuery: object;
  readonly exportQuery: { readonly after?: Id };
}

/**
 * The types of a resource in the `paths` that openapi-typescript generates from the OpenAPI document, such as
 * `ResourceOf<paths, 'tools'>`.
 */
export interface ResourceOf<Paths, Name extends string> {
  readonly new: BodyOf<Operation<Paths, `/${Name}`, 'post'>>;
  readonly created: ResponseOf<Operation<Paths, `/${Name}`, 'post'>>;
  readonly stored: StoredOf<
    ResponseOf<Operation<Paths, `/${Name}/{id}`, 'get'>>,
    ItemOf<ResponseOf<Operation<Paths, `/${Name}`, 'get'>>>
  >;
  readonly listed: StoredOf<
    ItemOf<ResponseOf<Operation<Paths, `/${Name}`, 'get'>>>,
    ResponseOf<Operation<Paths, `/${Name}/{id}`, 'get'>>
  >;
  readonly replacement: BodyOf<Operation<Paths, `/${Name}/{id}`, 'put'>>;
  readonly patch: BodyOf<Operation<Paths, `/${Name}/{id}`, 'patch'>>;
  readonly listQuery: QueryOf<Operation<Paths, `/${Name}`, 'get'>>;
  readonly exportQuery: QueryOf<Operation<Paths, `/${Name}/export`, 'get'>>;
}

export interface FeedTypes {
  readonly change: object;
  readonly query: object;
}

/** The types of a record of changes in the `paths`, such as `FeedOf<paths, 'changes'>`. */
export interface FeedOf<Paths, Name extends string> {
  readonly change: ItemOf<ResponseOf<Operation<Paths, `/${Name}`, 'get'>>>;
  readonly query: QueryOf<Operation<Paths, `/${Name}`, 'get'>>;
}

/** Of a resource without one of `GET /{name}/{id}` and `GET /{name}`, the other one tells. */
type StoredOf<One, Other> = [One] extends [never] ? Other : One;

type Operation<Paths, Path extends string, Method extends string> =
  Paths extends Readonly<Record<Path, Readonly<Record<Method, infer Found>>>> ? Found : never;

type BodyOf<Found> = Found extends { requestBody: { content: infer Content } }
  ? Content[keyof Content]
  : never;

type ResponseOf<Found> = Found extends { responses: infer Responses }
  ? Responses extends { 200: JsonOf<infer Content> } | { 201: JsonOf<infer Content> }
    ? Content
    : never
  : never;

interface JsonOf<Content> {
  content: { 'application/json': Content };
}

type ItemOf<List> = List extends readonly (infer Item extends object)[] ? Item : never;

type QueryOf<Found> = Found extends { parameters: { query?: infer Query } }
  ? NonNullable<Query>
  : never;

/** What the client needs of a schema: where it has 64-bit integers and UUIDs. */
export interface ExactSchema {
  /** The name of a schema in `SCHEMAS`. */
  readonly ref?: string;
  /** A `bigint` is a `number` here. */
  readonly type?: readonly string[];
  readonly format?: string;
  readonly properties?: Readonly<Record<string, ExactSchema>>;
  /** Of all properties that `properties` does not have. */
  readonly others?: ExactSchema;
  readonly items?: ExactSchema;
  readonly allOf?: readonly ExactSchema[];
  readonly anyOf?: readonly ExactSchema[];
}

export interface ExactParameter extends ExactSchema {
  /** Whether a list is one value with commas, instead of a parameter for each item. */
  readonly isJoined?: boolean;
}

/** What a client knows of an operation, besides what it checks. */
export interface ServiceCall {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly path: string;
  /** The names of the header fields that are parameters. */
  readonly headers: readonly string[];
  /** Of the body of the request. */
  readonly contentType?: string | undefined;
  /** `raw` is neither JSON nor nothing. */
  readonly response: 'json' | 'none' | 'raw';
  readonly int64: readonly string[];
}

export interface ExactOperation {
  readonly path?: Readonly<Record<string, ExactSchema>>;
  readonly query?: Readonly<Record<string, ExactParameter>>;
  readonly body?: ExactSchema;
}
