import { Readable, Writable } from 'node:stream';
import { PATIENCE } from '../../../framework/test/support/patience.js';
import { IDENTITY } from '../../../framework/test/support/identity.js';
import { run } from '../../src/command.js';
import type { OpenApiDocument } from '../../src/resources.js';
import type { Limits } from '../../src/connection/limits.js';
import { serviceOf } from '../../src/service.js';

export { IDENTITY };

type Paths = OpenApiDocument['paths'];

/** A document of a tool library with these paths. */
export function documentWith(...paths: readonly Paths[]): OpenApiDocument {
  const id = { type: 'integer', example: 7 };
  const properties = { id, name: { type: 'string', example: 'Hammer' } };
  return {
    paths: Object.assign({}, ...paths) as Paths,
    components: { schemas: { Tool: { properties } } },
  };
}

/** The paths of a resource that can be imported and exported. */
export function resource(name: string, ...filters: readonly string[]): Paths {
  const schema = { $ref: '#/components/schemas/Tool' };
  const parameters = filters.map(inQuery);
  return {
    [`/${name}/export`]: {
      get: { parameters, 'x-required-scope': `${name}:read`, responses: {} },
    },
    [`/${name}/import`]: { post: { 'x-required-scope': `${name}:write`, responses: {} } },
    [`/${name}/{id}`]: {
      get: { responses: { 200: { content: { 'application/json': { schema } } } } },
    },
  };
}

/** The paths of a feed. */
export function feed(name: string, ...parameters: readonly string[]): Paths {
  const schema = { type: 'string' };
  return {
    [`/${name}`]: {
      get: {
        parameters: ['limit', 'after', ...parameters].map(inQuery),
        responses: { 200: { content: { 'text/event-stream': { schema } } } },
      },
    },
    [`/${name}/latest`]: { get: { responses: {} } },
  };
}

function inQuery(name: string) {
  return { name, in: 'query', description: '', schema: { type: 'integer' } } as const;
}

/** What a service with webhooks has in its document. */
export const WEBHOOKS = {
  paths: { '/webhooks/{id}/deliveries': { get: { responses: {} } } },
  webhooks: { 'tool.created': {}, 'tool.removed': {}, 'loan.created': {} },
};

interface StartOptions {
  readonly limits?: Partial<Limits>;
  readonly signal?: AbortSignal;
  readonly stdout?: Writable;
}

/** Starts the command of the service with this document. */
export function startWith(
  document: OpenApiDocument,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
  { limits: given, signal = new AbortController().signal, stdout }: StartOptions = {},
) {
  const text = { stdout: '', stderr: '' };
  const collector = (name: keyof typeof text) =>
    new Writable({
      write: (chunk: Buffer, _encoding, done) => {
        text[name] += String(chunk);
        done();
      },
    });
  const terminal = {
    env,
    stdin: Readable.from([]),
    stdout: stdout ?? collector('stdout'),
    stderr: collector('stderr'),
  };
  const limits = {
    idle: PATIENCE,
    firstPause: 5,
    longestPause: 50,
    patience: PATIENCE,
    firstContact: PATIENCE,
    unstoppable: PATIENCE,
    ...given,
  };
  const service = serviceOf({ identity: IDENTITY, document });
  return { text, code: run(service, args, terminal, signal, limits) };
}

/** Runs the command of the service with this document. */
export async function runWith(
  document: OpenApiDocument,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
  limits: Partial<Limits> = {},
) {
  const { text, code } = startWith(document, args, env, { limits });
  return { code: await code, ...text };
}
