import { operationsOf } from '@resource-service/client/document';
import type {
  DocumentedOperation,
  OpenApiDocument,
  Parameter,
} from '@resource-service/client/document';
import { check } from '../check.js';
import type { Check } from '../check.js';
import { contentOf, errorOf } from '../exchange.js';
import type { Exchange } from '../exchange.js';
import { isObject } from '../json.js';
import type { RequestOptions, TestedService } from '../tested-service.js';
import { valueOf } from '../values.js';
import { NotApplicable, verify } from '../violation.js';

/** What only the inside of a service knows: frames of a stack, files, statements. */
const LEAK =
  /\n\s+at |node_modules|\.[cm]?[jt]s:\d+|\b(SELECT|INSERT INTO|DELETE FROM|UPDATE "?\w+"? SET)\b|QueryFailedError|ECONNREFUSED|\/(home|usr|root|app)\//;

/** That nobody has, with each kind of key. */
const UNKNOWN = {
  uuid: '01234567-0123-4123-8123-0123456789ab',
  number: '4611686018427387903',
  text: 'no-such-key',
};

/** The checks of what the service says of wrong requests. */
export function errorChecks(document: OpenApiDocument): readonly Check[] {
  return [
    check('errors: of an unknown path', async (service) => {
      const exchange = await service.send('GET', `/no-such-${service.random.text(12)}`);
      verifyError(document, exchange, 404);
    }),
    check('errors: of an unknown method', async (service) => {
      const path = Object.keys(document.paths).find(
        (each) => !each.includes('{') && document.paths[each]?.delete === undefined,
      );
      if (path === undefined) throw new NotApplicable('all paths have a DELETE');
      const exchange = await service.send('DELETE', path);
      verifyError(document, exchange, 405);
      verify(exchange.headers['allow'] !== undefined, 'a 405 has no Allow', exchange);
    }),
    ...operationsOf(document).map((operation) => checkOf(document, operation)),
  ];
}

function checkOf(document: OpenApiDocument, documented: DocumentedOperation): Check {
  const { method, operation, parameters } = documented;
  const path = pathOf(documented);
  return check(`errors: of ${nameOf(documented)}`, async (service) => {
    const wrong: [status: number, path: string, options?: RequestOptions][] = [];
    if ('application/json' in (operation.requestBody?.content ?? {})) {
      for (const body of ['', '{"a":', '[]', ...wrongBodies(document, documented, service)]) {
        wrong.push([400, path, { body }]);
      }
      wrong.push([415, path, { body: 'a', headers: { 'Content-Type': 'text/plain' } }]);
    }
    for (const query of wrongQueries(documented)) wrong.push([400, `${path}?${query}`]);
    const inPath = parameters.filter((each) => each.in === 'path');
    // A list of what belongs to an unknown row can be empty.
    const isRestore = documented.path.endsWith('/{id}/restore');
    const needsRow = ['get', 'delete'].includes(method) || isRestore;
    const isFound = '404' in operation.responses && needsRow;
    if (isFound) wrong.push([404, path]);
    const isKey = ({ schema }: Parameter) =>
      schema?.type === 'integer' || schema?.format === 'uuid';
    if (inPath.some(isKey)) wrong.push([400, documented.path.replaceAll(/\{\w+\}/g, '1x')]);
    if (wrong.length === 0) throw new NotApplicable('no request to it can be wrong');
    for (const [status, target, options] of wrong) {
      verifyError(document, await service.send(method.toUpperCase(), target, options), status);
    }
  });
}

/** Bodies in which one property has a value of a wrong type. An object can be right where the document permits one. */
function wrongBodies(
  document: OpenApiDocument,
  { operation }: DocumentedOperation,
  { random }: TestedService,
): readonly string[] {
  const schema = operation.requestBody?.content['application/json']?.schema;
  const whole = schema && valueOf(document, schema, random);
  if (!isObject(whole)) return [];
  const canBeObject = (value: unknown) => isObject(value) && !Array.isArray(value);
  const names = Object.keys(whole).filter((name) => !canBeObject(whole[name]));
  return names.map((name) => JSON.stringify({ [name]: { nested: [] } }));
}

function wrongQueries({ method, parameters }: DocumentedOperation): readonly string[] {
  if (method !== 'get') return [];
  const inQuery = parameters.filter((each) => each.in === 'query');
  const typed = inQuery.filter(({ schema }) =>
    ['integer', 'boolean'].includes(String(schema?.type)),
  );
  return [
    ...typed.map(({ name }) => `${encodeURIComponent(name ?? '')}=1x`),
    ...(inQuery.length > 0 ? ['no-such-parameter=1'] : []),
  ];
}

/** @throws Violation unless the response is an Error with this status */
export function verifyError(document: OpenApiDocument, exchange: Exchange, status: number): void {
  const request = `${exchange.method} ${exchange.path}`;
  verify(exchange.status === status, `${request} gets ${exchange.status}, not ${status}`, exchange);
  const type = exchange.headers['content-type'] ?? 'nothing';
  verify(/^application\/json\b/.test(type), `the error is ${type}, not application/json`, exchange);
  const number = errorOf(exchange);
  const { message } = contentOf(exchange);
  const isError = number !== undefined && typeof message === 'string';
  verify(isError, 'the error is not { error, message }', exchange);
  const isOfStatus = String(number).startsWith(String(status));
  verify(isOfStatus, `${number} is not the number of an error with status ${status}`, exchange);
  const known = numbersOf(document);
  const isKnown = known.size === 0 || known.has(number);
  verify(isKnown, `the document does not have the number ${number}`, exchange);
  verify(!LEAK.test(exchange.body), 'the error tells what is inside of the service', exchange);
}

/** The numbers of errors that the document lists. */
function numbersOf({ components }: OpenApiDocument): ReadonlySet<number> {
  const { description = '' } = (components.schemas['Error']?.properties?.['error'] ?? {}) as {
    readonly description?: string;
  };
  const numbers = description.matchAll(/^- (\d{5,8}):/gm);
  return new Set([...numbers].map(([, number]) => Number(number)));
}

/** Such as `GET /tools/{id}`. */
export function nameOf({ method, path }: DocumentedOperation): string {
  return `${method.toUpperCase()} ${path}`;
}

/** The path of a row that nobody has. */
export function pathOf({ path, parameters }: DocumentedOperation): string {
  return path.replaceAll(/\{([^}]+)\}/g, (_, name: string) => {
    const { schema } = parameters.find((each) => each.name === name && each.in === 'path') ?? {};
    if (schema?.format === 'uuid') return UNKNOWN.uuid;
    return schema?.type === 'integer' ? UNKNOWN.number : UNKNOWN.text;
  });
}
