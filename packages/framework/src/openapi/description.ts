import type { OpenAPIObject } from '@nestjs/swagger';
import { stringify } from 'lossless-json';
import { REPEATABLE } from '../http/responses/repeatable.js';
import { methodsOf, scopesOf } from './operations.js';
import type { Method } from './operations.js';

const PRECISION =
  "JSON parsers that read numbers as doubles, such as JavaScript's `JSON.parse`, round";

export function descriptionOf(document: OpenAPIObject, summary: string): string {
  const methods = methodsOf(document);
  const isPublic = methods.some(({ operation }) => operation['x-required-scope'] === undefined);
  const scopes = scopesOf(document)
    .map((scope) => `\`${scope}\``)
    .join(', ');
  const hasSeveral = methods.some(({ operation }) => Array.isArray(operation['x-required-scope']));
  const ids = idsOf(document, methods);
  return `${summary}

## Authentication

Every request needs a bearer token in its \`Authorization\` header${othersOf(document)}${isPublic ? ', unless its operation says otherwise' : ''}.${scopes === '' ? '' : ` The token must have the scope of the operation${hasSeveral ? ', or one of several' : ''}: ${scopes}. Otherwise the request is rejected with 403.`}

## Errors

The response to a failed request is an Error. Its \`error\` number identifies the kind of error and never changes its meaning; the first three digits are the HTTP status.

## Retries

After a 429 or 503, wait for the seconds in \`Retry-After\`, then send the request again${retriesOf(methods)}${ids}`;
}

/** Credentials of the service's own. */
function othersOf({ security = [] }: OpenAPIObject): string {
  const names = security.flatMap((each) => Object.keys(each)).slice(1);
  return names.map((name) => ` or \`${name}\``).join('');
}

/** Clients that obey this must not create anything twice. */
function retriesOf(methods: readonly Method[]): string {
  const posts = methods.filter(({ method }) => method === 'post');
  const keyed = posts.filter(({ operation }) => hasHeader(operation, 'Idempotency-Key'));
  const others = posts.filter((post) => !post.operation[REPEATABLE] && !keyed.includes(post));
  const isConditional = methods.some(({ operation }) => hasHeader(operation, 'If-Match'));
  const reasons = given([
    posts.some(({ operation }) => operation[REPEATABLE] === 'create') &&
      'a create with the same content changes nothing',
    isConditional && 'a change with `If-Match` is made at most once',
  ]).join(', and ');
  const why = reasons === '' ? '' : `: ${reasons}`;
  if (keyed.length + others.length === 0) return `. Every operation is idempotent${why}.`;
  const sentences = given([
    keyed.length > 0 &&
      `${namesOf(keyed)}: only with an \`Idempotency-Key\`, which is the same in each attempt. Without one, each request is performed, also if an earlier one was performed and its response was lost.`,
    others.length > 0 &&
      `${namesOf(others)}: only if the description of the operation says that it can be repeated.`,
    `All other operations are idempotent${why}.`,
  ]);
  return `, if the operation can be repeated:\n\n${sentences.map((each) => `- ${each}`).join('\n')}`;
}

function given(texts: readonly (string | false)[]): readonly string[] {
  return texts.filter((text) => text !== false);
}

function idsOf(document: OpenAPIObject, methods: readonly Method[]): string {
  const tags = (format: string) => {
    const found = methods.filter(({ operation }) =>
      operation.parameters?.some(
        (each) =>
          'name' in each &&
          each.name === 'id' &&
          each.in === 'path' &&
          (each.schema as { readonly format?: string } | undefined)?.format === format,
      ),
    );
    return [...new Set(found.flatMap(({ operation: { tags: names = [] } }) => names))];
  };
  const [numbers, uuids] = [tags('int64'), tags('uuid')];
  const schemas = stringify([document.paths, document.components]);
  const hasIntegers = schemas?.includes('"format":"int64"');
  if (uuids.length === 0) {
    if (numbers.length > 0) {
      return section('Exact ids', `Ids are 64-bit integers. ${PRECISION} ids beyond 2^53.`);
    }
    return hasIntegers
      ? section('Exact integers', `${PRECISION} 64-bit integers beyond 2^53.`)
      : '';
  }
  const kinds =
    numbers.length === 0
      ? 'Ids are UUIDs'
      : `The ids of ${numbers.join(', ')} are 64-bit integers, the ids of ${uuids.join(', ')} are UUIDs`;
  const integers = hasIntegers ? ` ${PRECISION} 64-bit integers beyond 2^53.` : '';
  return section(
    'Exact ids',
    `${kinds} (RFC 9562), in any case. Responses have them in lower case.${integers}`,
  );
}

function section(title: string, text: string): string {
  return `\n\n## ${title}\n\n${text}`;
}

function hasHeader({ parameters = [] }: Method['operation'], name: string): boolean {
  return parameters.some((each) => 'name' in each && each.in === 'header' && each.name === name);
}

function namesOf(methods: readonly Method[]): string {
  return methods.map(({ operation }) => `\`${operation.operationId}\``).join(', ');
}
