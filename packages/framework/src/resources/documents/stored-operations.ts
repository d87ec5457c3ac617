import { applyDecorators } from '@nestjs/common';
import type { Type } from '@nestjs/common';
import {
  ApiBody,
  ApiConsumes,
  ApiHeader,
  ApiNoContentResponse,
  ApiNotModifiedResponse,
  ApiOkResponse,
  ApiParam,
} from '@nestjs/swagger';
import { ERRORS } from '../../errors/common-errors.js';
import { ENTITY_TAGS_SCHEMA } from '../../http/answers/entity-tag.js';
import { PATCH_TYPES } from '../../http/body/merge-patch.js';
import { ApiErrors } from '../../http/errors/api-errors.js';
import { INT64_KEY, UUID_KEY } from '../properties/key-docs.js';
import {
  BODY_ERRORS,
  entityTagHeader,
  mapExamples,
  operation,
  unsupported,
} from './resource-docs.js';
import type { StoredDocs } from './resource-docs.js';

/** What differs with who makes the ids. */
interface StoredTexts {
  readonly lookUp: string;
  readonly removed: string;
}

/** The decorators of the operations on stored rows. */
export function storedOperations(docs: StoredDocs, texts: StoredTexts) {
  const { one, plural, stored, errors, replacements = {}, patches = {} } = docs;
  const { others: further = [], removal = [] } = errors;
  const noun = one.replace(/^an? /, '');
  const [single, many] = docs.operationIds;
  const key = typeof docs.changed === 'string' ? UUID_KEY : INT64_KEY;
  const entityTag = entityTagHeader(noun);
  const ifMatch = ApiHeader({
    name: 'If-Match',
    required: false,
    description: `Changes the ${noun} only if it still has one of these entity tags, otherwise the request fails with 412. \`*\` stands for any tag.`,
    example: '*',
    schema: ENTITY_TAGS_SCHEMA,
  });
  const idParameter = ApiParam({
    name: 'id',
    description: key.describe(noun),
    schema: { ...key.schema, example: docs.changed },
  });
  const idErrors = [[ERRORS.parameterNotValid, key.ruleOf('id')]] as const;
  const changeErrors = [
    ...idErrors,
    errors.noSuch,
    ERRORS.preconditionFailed,
    ERRORS.tooManyChanges,
  ] as const;
  const otherId = [ERRORS.bodyNotValid, `id must be the id in the path, ${docs.changed}`] as const;
  const page = Object.values(docs.examples)
    .slice(0, 2)
    .map(({ value }) => value);

  return {
    get: applyDecorators(
      operation(docs, `get${single}`, `Get ${one} by its id`, texts.lookUp),
      ApiParam({
        name: 'id',
        description: key.describeInFull(noun),
        schema: key.schema,
        examples: mapExamples(docs.examples, ({ id }) => id),
      }),
      ApiHeader({
        name: 'If-None-Match',
        required: false,
        description: `Entity tags that the client has. If the ${noun} still has one of them, the answer is 304, without a body.`,
        schema: ENTITY_TAGS_SCHEMA,
      }),
      ApiOkResponse({
        type: stored,
        description: `The ${noun} with this id.`,
        headers: entityTag,
        examples: docs.examples,
      }),
      ApiNotModifiedResponse({
        description: `The client has the ${noun} as it is stored.`,
        headers: entityTag,
      }),
      ApiErrors(
        ...idErrors,
        [errors.noSuch, `there is no ${noun} with id ${key.missing}`],
        ERRORS.tooManyAnswers,
      ),
    ),

    list: applyDecorators(
      operation(
        docs,
        `list${many}`,
        `List ${plural}`,
        `Returns ${plural}, by default in ascending order of their ids, in pages (pagination by key): if there are more, the \`Link\` header field leads to the next page. A parameter that is unknown is refused, and so is one that is given twice, unless it is a list.`,
      ),
      ApiOkResponse({
        type: stored,
        isArray: true,
        description: `A page of ${plural}.`,
        headers: {
          Link: {
            description: `The next page with the same filters and order: \`</${plural}?limit=50&after=${page.at(-1)?.id}>; rel="next"\`. The last page has no such field (RFC 8288).`,
            schema: { type: 'string' },
          },
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
        ...(docs.hasSearch === true ? [ERRORS.searchTooSlow, ERRORS.tooManySearches] : []),
        ERRORS.tooManyLists,
        ERRORS.tooManyAnswers,
      ),
    ),

    replace: applyDecorators(
      requires(docs, 'replacement'),
      operation(
        docs,
        `replace${single}`,
        `Replace ${one}`,
        `Replaces all members of a stored ${noun}, except its id. Does not create ${one}.`,
      ),
      idParameter,
      ifMatch,
      ApiBody({
        type: docs.replacement as Type,
        required: true,
        description: 'The new content.',
        examples: replacements,
      }),
      ApiOkResponse({
        type: stored,
        // RFC 9110, section 9.3.4.
        description: `The ${noun} as it is stored now. For its entity tag, look it up.`,
        examples: mapExamples(replacements, (value) => ({ id: docs.changed, ...value })),
      }),
      ApiErrors(
        ERRORS.malformedJson,
        otherId,
        ...BODY_ERRORS,
        ...changeErrors,
        ...further,
        unsupported(['application/json'], 'Accept'),
      ),
    ),

    patch: applyDecorators(
      requires(docs, 'patch'),
      operation(
        docs,
        `patch${single}`,
        `Change members of ${one}`,
        'Applies a JSON Merge Patch (RFC 7396): changes the members that the body has. `null` removes a member.',
      ),
      idParameter,
      ifMatch,
      ApiConsumes(...PATCH_TYPES),
      ApiBody({
        type: docs.patch as Type,
        required: true,
        description: 'The members to change.',
        examples: patches,
      }),
      ApiOkResponse({
        type: stored,
        description: `The ${noun} as it is stored now.`,
        headers: entityTag,
        examples: patched(docs),
      }),
      ApiErrors(
        ERRORS.malformedJson,
        otherId,
        ...BODY_ERRORS,
        ...changeErrors,
        ...further,
        unsupported(PATCH_TYPES, 'Accept-Patch'),
      ),
    ),

    remove: applyDecorators(
      operation(docs, `delete${single}`, `Remove ${one}`, `Removes ${one}. ${texts.removed}`),
      idParameter,
      ifMatch,
      ApiNoContentResponse({ description: `The ${noun} is removed.` }),
      ApiErrors(...changeErrors, ...removal),
    ),
  };
}

/** Refuses an operation whose body the documentation does not have. */
function requires(docs: StoredDocs, name: 'replacement' | 'patch'): MethodDecorator {
  return () => {
    if (docs[name] === undefined) throw new TypeError(`the docs of ${docs.plural} have no ${name}`);
  };
}

/** What is stored after the last replacement and each patch. */
function patched({ changed, replacements = {}, patches = {} }: StoredDocs) {
  let stored = { id: changed, ...Object.values(replacements).at(-1)?.value };
  return mapExamples(patches, (patch) => {
    const members = Object.entries({ ...stored, ...patch }).filter(([, value]) => value !== null);
    stored = { id: changed, ...Object.fromEntries(members) };
    return stored;
  });
}
