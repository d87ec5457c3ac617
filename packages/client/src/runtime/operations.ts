import { Connection } from './connection.js';
import type { ClientOptions, Content } from './connection.js';
import { parseJson } from './exact-json.js';
import { CALLS } from './generated.js';
import type { RequestOptions } from './pages.js';
import { randomKey } from './resource.js';
import type { ServiceCall } from './resource-types.js';

const JSON_TYPE = 'application/json';

/**
 * The operations by their ids. Each takes all its parameters, and its `body`, as properties of one object. It returns what JSON
 * says, and the `Response` of any other content, whose body you then read. It is repeated if it is GET, PUT or DELETE, or has an
 * `Idempotency-Key`, which is random unless you give one; otherwise only after a response that says that nothing was done.
 */
export type Operations<All> = {
  readonly [Id in keyof All]: (...given: GivenOf<InputOf<All[Id]>>) => Promise<ResultOf<All[Id]>>;
};

// An optional input has only optional properties.
type GivenOf<Input> =
  Partial<Input> extends Input
    ? [input?: Input, options?: RequestOptions]
    : [input: Input, options?: RequestOptions];

type InputOf<Found> = PartOf<Found, 'path'> &
  PartOf<Found, 'query'> &
  PartOf<Found, 'header'> &
  BodyOf<Found>;

type PartOf<Found, Place extends string> = Found extends {
  parameters: { [Key in Place]?: infer Part };
}
  ? Known<Part>
  : unknown;

/** `unknown` adds nothing to an intersection, and `never` takes everything. */
type Known<Part> = [NonNullable<Part>] extends [never] ? unknown : NonNullable<Part>;

type BodyOf<Found> = Found extends { requestBody: { content: infer Types } }
  ? { readonly body: ContentOf<Types> }
  : Found extends { requestBody?: infer Body }
    ? NonNullable<Body> extends { content: infer Types }
      ? { readonly body?: ContentOf<Types> }
      : unknown
    : unknown;

type ContentOf<Types> = Types extends { 'application/json': infer Json } ? Json : Content;

type ResultOf<Found> = Found extends { responses: infer Responses }
  ? { [Status in keyof Responses & Success]: ReadOf<Responses[Status]> }[keyof Responses & Success]
  : undefined;

type Success = 200 | 201 | 202 | 203 | 204 | 205 | 206;

type ReadOf<Found> = Found extends { content: infer Types }
  ? Types extends { 'application/json': infer Json }
    ? Json
    : Response
  : undefined;

interface Given {
  readonly body?: unknown;
  readonly [parameter: string]: unknown;
}

/** @throws TypeError if an option is wrong */
export function operationsOf<All>(options: ClientOptions): Operations<All> {
  const connection = new Connection(options);
  const methods = Object.entries(CALLS).map(([id, call]) => [
    id,
    (input?: Given, given?: RequestOptions) => send(connection, call, input, given),
  ]);
  return Object.fromEntries(methods) as Operations<All>;
}

async function send(
  connection: Connection,
  { method, path, headers: names, contentType, response: kind, int64 }: ServiceCall,
  { body, ...given }: Given = {},
  { signal = null }: RequestOptions = {},
): Promise<unknown> {
  const declared = (field: string) => names.find((name) => name.toLowerCase() === field);
  const key = declared('idempotency-key');
  const ifMatch = declared('if-match');
  const parameters = key === undefined ? given : { ...given, [key]: given[key] ?? randomKey() };
  // A missing entity tag would turn into a change without a precondition.
  if (ifMatch !== undefined && ifMatch in given && given[ifMatch] === undefined)
    throw new TypeError(`${ifMatch} is undefined`);
  const partOf = (isIncluded: (name: string) => boolean) =>
    Object.fromEntries(Object.entries(parameters).filter(([name]) => isIncluded(name)));
  const isInPath = (name: string) => path.includes(`{${name}}`);
  const headers = {
    // `fetch` knows what separates the parts of a form.
    ...(body !== undefined && !(body instanceof FormData) && { 'Content-Type': contentType }),
    ...(kind === 'json' && { Accept: JSON_TYPE }),
    ...partOf((name) => names.includes(name)),
  };
  const hasPrecondition = ifMatch !== undefined && ifMatch in given;
  const isSafe = !['POST', 'PATCH'].includes(method) && !hasPrecondition;
  const call = {
    method,
    path,
    parameters: partOf(isInPath),
    query: partOf((name) => !isInPath(name) && !names.includes(name)),
    headers,
    ...(contentType === JSON_TYPE ? { body } : { content: body as Content }),
    signal,
    isStream: kind === 'raw',
    acceptsPages: kind === 'raw',
    isRepeatable: isSafe || key !== undefined,
    isRemoval: method === 'DELETE' && kind === 'none',
  };
  return connection.send(call, async (response) => {
    if (kind === 'raw') return response;
    const text = await response.text();
    return kind === 'none' || text === '' ? undefined : parseJson(text, int64);
  });
}
