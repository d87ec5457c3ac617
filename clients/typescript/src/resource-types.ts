/** The types of a resource's operations. */
export interface ResourceTypes {
  /** What a create takes. */
  readonly new: object;
  /** What a create answers. */
  readonly created: object;
  /** What all other operations answer. */
  readonly stored: { readonly id: bigint };
  readonly replacement: object;
  readonly patch: object;
  readonly listQuery: object;
  readonly exportQuery: { readonly after?: bigint };
}

/**
 * The types of a resource in the `paths` that openapi-typescript generates from the OpenAPI document, such as
 * `ResourceOf<paths, 'plants'>`.
 */
export interface ResourceOf<Paths, Name extends string> {
  readonly new: BodyOf<Operation<Paths, `/${Name}`, 'post'>>;
  readonly created: AnswerOf<Operation<Paths, `/${Name}`, 'post'>>;
  readonly stored: AnswerOf<Operation<Paths, `/${Name}/{id}`, 'get'>>;
  readonly replacement: BodyOf<Operation<Paths, `/${Name}/{id}`, 'put'>>;
  readonly patch: BodyOf<Operation<Paths, `/${Name}/{id}`, 'patch'>>;
  readonly listQuery: QueryOf<Operation<Paths, `/${Name}`, 'get'>>;
  readonly exportQuery: QueryOf<Operation<Paths, `/${Name}/export`, 'get'>>;
}

type Operation<Paths, Path extends string, Method extends string> =
  Paths extends Readonly<Record<Path, Readonly<Record<Method, infer Found>>>> ? Found : never;

type BodyOf<Found> = Found extends { requestBody: { content: infer Content } }
  ? Content[keyof Content]
  : never;

type AnswerOf<Found> = Found extends {
  responses: { 200: { content: { 'application/json': infer Answer } } };
}
  ? Answer
  : never;

type QueryOf<Found> = Found extends { parameters: { query?: infer Query } }
  ? NonNullable<Query>
  : never;
