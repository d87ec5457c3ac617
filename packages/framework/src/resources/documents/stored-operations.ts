import {
  ApiBody,
  ApiConsumes,
  ApiHeader,
  ApiNotModifiedResponse,
  ApiResponse,
  ApiParam,
} from '@nestjs/swagger';
import { ERRORS } from '../../errors/common-errors.js';
import { ENTITY_TAGS_SCHEMA } from '../../http/responses/entity-tag.js';
import { PATCH_TYPES } from '../../http/body/json-body.js';
import { ApiRepeatable } from '../../http/responses/repeatable.js';
import { ApiErrors } from '../../http/errors/api-errors.js';
import { listedDto } from '../reads/expansion.js';
import {
  BODY_ERRORS,
  headers,
  mapExamples,
  operation,
  propertiesIn,
  rejectsOthers,
  unsupported,
} from './resource-docs.js';
import type { Document, Method, Words } from './resource-docs.js';

const LIST = new Intl.ListFormat('en-GB');

export const get: Document = (words, { response, status }) => {
  const { one, plural, noun, errors, examples, key, entityTag, Single } = words;
  return [
    operation(
      words,
      `get${Single}`,
      `Get ${one} by its id`,
      words.isIdChosen
        ? `The examples look up the ${plural} that the examples of “Create ${one}” create.`
        : `Returns the ${noun} with this id.`,
    ),
    ApiParam({
      name: 'id',
      description: key.describe(noun),
      schema: key.schema,
      examples: mapExamples(examples.create, ({ id }) => id),
    }),
    ApiHeader({
      name: 'If-None-Match',
      required: false,
      description: `Entity tags that the client has. If the ${noun} still has one of them, the response is 304, without a body.`,
      schema: ENTITY_TAGS_SCHEMA,
    }),
    ApiResponse({
      status,
      type: response,
      description: `The ${noun} with this id.`,
      headers: entityTag,
      examples: examples.create,
    }),
    ApiNotModifiedResponse({
      description: `The client has the ${noun} as it is stored.`,
      headers: entityTag,
    }),
    ApiErrors(
      [ERRORS.parameterNotValid, key.constraintOf('id')],
      [errors.noSuch, `there is no ${noun} with id ${key.missing}`],
      ERRORS.tooManyAnswers,
    ),
  ];
};

export const list: Document = (words, { response, status, query }) => {
  const { plural, path } = words;
  const page = words.rows.slice(0, 2);
  return [
    operation(
      words,
      `list${words.Many}`,
      `List ${plural}`,
      `Returns ${plural}, by default in ascending order of their ids, in pages (pagination by key): if there are more, the \`Link\` header field leads to the next page.${rejectsOthers(query) ? ' An unknown parameter is rejected, and so is one that is given twice, unless it is a list.' : ''}`,
    ),
    ApiResponse({
      status,
      type: listedDto(response, `Listed${words.Single}`, query),
      isArray: true,
      description: `A page of ${plural}.`,
      headers: {
        ...headers({
          Link: `The next page with the same filters and order: \`</${path}?limit=50&after=${page.at(-1)?.id}>; rel="next"\`. The last page has no such field (RFC 8288).`,
        }),
        'X-Total-Count': {
          description: `With \`count=true\`: how many ${plural} match, on all pages.`,
          schema: { type: 'integer' },
        },
        'X-Total-Count-Exact': {
          description:
            'With `count=true`: whether the count is exact. Otherwise it is an estimate.',
          schema: { type: 'boolean' },
        },
      },
      examples: { page: { summary: `A page of ${plural}`, value: page } },
    }),
    ApiErrors(
      [ERRORS.parameterNotValid, 'limit must be an integer between 1 and 1000'],
      ...words.searchErrors,
      ERRORS.tooManyLists,
      ERRORS.tooManyAnswers,
    ),
  ];
};

export const replace: Document = (words, method) => {
  const { one, noun, examples, first } = words;
  const given = propertiesIn(method.body);
  const kept = propertiesIn(method.response)
    .filter((name) => name !== 'id' && !given.includes(name))
    .map((name) => `\`${name}\``);
  return [
    operation(
      words,
      `replace${words.Single}`,
      `Replace ${one}`,
      `Replaces all fields of a stored ${noun}, except ${LIST.format(['its id', ...kept])}. Does not create ${one}.`,
    ),
    ...change(words, method),
    ApiBody({
      type: method.body,
      required: true,
      description: 'The new content.',
      examples: examples.replace ?? {},
    }),
    ApiResponse({
      status: method.status,
      type: method.response,
      // RFC 9110, section 9.3.4.
      description: `The ${noun} as it is stored now. For its entity tag, look it up.`,
      examples: mapExamples(examples.replace, (value) => ({ id: first.id, ...value })),
    }),
    ApiErrors(...contentErrors(words, method), unsupported(['application/json'], 'Accept')),
  ];
};

export const patch: Document = (words, method) => [
  operation(
    words,
    `patch${words.Single}`,
    `Change fields of ${words.one}`,
    'Applies a JSON Merge Patch (RFC 7396): changes the fields that the body has. `null` removes a field.',
  ),
  ...change(words, method),
  ApiConsumes(...PATCH_TYPES),
  ApiBody({
    type: method.body,
    required: true,
    description: 'The fields to change.',
    examples: words.examples.patch ?? {},
  }),
  ApiResponse({
    status: method.status,
    type: method.response,
    description: `The ${words.noun} as it is stored now.`,
    headers: words.entityTag,
    examples: patched(words),
  }),
  ApiErrors(...contentErrors(words, method), unsupported(PATCH_TYPES, 'Accept-Patch')),
];

export const remove: Document = (words, method) => {
  const { one, noun, errors } = words;
  return [
    operation(
      words,
      `delete${words.Single}`,
      `Remove ${one}`,
      `Removes ${one}.${afterwards(words)}`,
    ),
    ...change(words, method),
    ApiResponse({ status: method.status, description: `The ${noun} is removed.` }),
    ApiErrors(...changeErrors(words, method), ...(errors.removal ?? [])),
  ];
};

function afterwards({ path, isRestorable, isIdChosen, keepsRemoved }: Words): string {
  if (isRestorable) {
    return ` It stays in the store, unseen: \`POST /${path}/{id}/restore\` brings it back.`;
  }
  if (!isIdChosen) return ' Its id is not used again.';
  if (keepsRemoved === undefined) return '';
  return keepsRemoved ? ' Its id stays taken.' : ' Its id is free afterwards.';
}

export const restore: Document = (words, method) => {
  const { one, noun, errors, examples, entityTag } = words;
  return [
    ApiRepeatable('change'),
    operation(
      words,
      `restore${words.Single}`,
      `Restore ${one}`,
      `Brings back ${one} that was removed, with its content. If it is not removed, nothing changes.`,
    ),
    ...change(words, method),
    ApiResponse({
      status: method.status,
      type: method.response,
      description: `The ${noun} as it is stored now.`,
      headers: entityTag,
      examples: examples.create,
    }),
    ApiErrors(...changeErrors(words, method), ERRORS.tooManyAnswers, ...(errors.others ?? [])),
  ];
};

/** The parameters of a change of the row of the first example. */
function change({ noun, key, first }: Words, { hasPrecondition }: Method) {
  return [
    ApiParam({
      name: 'id',
      description: key.describe(noun),
      schema: { ...key.schema, example: first.id },
    }),
    ...(hasPrecondition ? [ifMatch(noun)] : []),
  ];
}

function ifMatch(noun: string) {
  return ApiHeader({
    name: 'If-Match',
    required: false,
    description: `Changes the ${noun} only if it still has one of these entity tags, otherwise the request fails with 412. \`*\` stands for any tag.`,
    example: '*',
    schema: ENTITY_TAGS_SCHEMA,
  });
}

function changeErrors({ key, errors }: Words, { hasPrecondition }: Method) {
  return [
    [ERRORS.parameterNotValid, key.constraintOf('id')],
    errors.noSuch,
    ...(hasPrecondition ? [ERRORS.preconditionFailed] : []),
    ERRORS.tooManyChanges,
  ] as const;
}

function contentErrors(words: Words, method: Method) {
  return [
    ERRORS.malformedJson,
    ...BODY_ERRORS,
    [ERRORS.bodyNotValid, `id must be the id in the path, ${words.first.id}`],
    ...changeErrors(words, method),
    ...(words.errors.others ?? []),
  ] as const;
}

/** What is stored after the last replacement, or else the create, and each patch. */
function patched({ first, examples }: Words) {
  const { id } = first;
  let stored: object = { id, ...(Object.values(examples.replace ?? {}).at(-1)?.value ?? first) };
  return mapExamples(examples.patch, (changes) => {
    const properties = Object.entries({ ...stored, ...changes }).filter(
      ([, value]) => value !== null,
    );
    stored = { id, ...Object.fromEntries(properties) };
    return stored;
  });
}
