import { applyDecorators } from '@nestjs/common';
import {
  ApiBody,
  ApiConsumes,
  ApiHeader,
  ApiNoContentResponse,
  ApiNotModifiedResponse,
  ApiOkResponse,
  ApiParam,
} from '@nestjs/swagger';
import { ERRORS } from '../errors/common-errors.js';
import { ENTITY_TAGS_SCHEMA } from '../http/answers/entity-tag.js';
import { PATCH_TYPES } from '../http/body/merge-patch.js';
import { ApiErrors } from '../http/errors/api-errors.js';
import { apiTransfers } from './api-transfers.js';
import { INT64_SCHEMA, int64ParameterRule, MAX_INT64, MIN_INT64 } from './int64.js';
import { capital, operation, schemaName, unsupported } from './resource-docs.js';
import type { Examples, ResourceDocs, StoredExample } from './resource-docs.js';

/* The documentation of the operations that resources have. */

/** The decorators of the operations of a resource. */
export function apiOperations(docs: ResourceDocs) {
  const { one, plural, stored, replacement, patch, errors } = docs;
  const { others: further = [], removal = [] } = errors;
  const noun = one.replace(/^an? /, '');
  const [single, many] = docs.operationIds;
  const entityTag = {
    ETag: {
      description: `The entity tag of the ${noun}, for \`If-Match\` and \`If-None-Match\` (RFC 9110, section 8.8.3).`,
      schema: { type: 'string' as const },
    },
  };
  const ifMatch = ApiHeader({
    name: 'If-Match',
    required: false,
    description: `Changes the ${noun} only if it still has one of these entity tags, otherwise the request fails with 412. \`*\` stands for any tag.`,
    example: '*',
    schema: ENTITY_TAGS_SCHEMA,
  });
  const idParameter = ApiParam({
    name: 'id',
    description: `Identification number of the ${noun}, in canonical decimal form.`,
    schema: { ...INT64_SCHEMA, example: docs.changed },
  });
  const idErrors = [[ERRORS.parameterNotValid, int64ParameterRule('id')]] as const;
  const changeErrors = [
    ...idErrors,
    errors.noSuch,
    ERRORS.preconditionFailed,
    ERRORS.tooManyChanges,
  ] as const;
  const bodyErrors = [
    ERRORS.bodyMissing,
    ERRORS.bodyTooLarge,
    ERRORS.tooManyBodies,
    ERRORS.tooManyAnswers,
  ] as const;
  const otherId = [ERRORS.bodyNotValid, `id must be the id in the path, ${docs.changed}`] as const;
  const page = Object.values(docs.examples)
    .slice(0, 2)
    .map(({ value }) => value);

  return {
    create: applyDecorators(
      operation(
        docs,
        `create${single}`,
        `Create ${one}`,
        `Creates a new ${noun} in the store. Creating the same ${noun} again, with the same id and content, succeeds and changes nothing, so a request whose answer was lost can be sent again. If the id belongs to ${one} with other content, the request fails and the stored ${noun} does not change. Members that ${schemaName(docs.created)} does not define are ignored.`,
      ),
      ApiBody({
        type: docs.created,
        required: true,
        description: `${capital(noun)} to add to the store.`,
        examples: docs.examples,
      }),
      ApiOkResponse({
        type: docs.answer ?? stored,
        description: `The ${noun} is stored.`,
        examples: docs.answer === undefined ? docs.examples : mapExamples(docs.examples, withoutId),
        links: {
          [`get${single}`]: {
            operationId: `get${single}`,
            parameters: { id: '$request.body#/id' },
            description: `The ${noun} that was created.`,
          },
        },
      }),
      ApiErrors(
        [
          ERRORS.malformedJson,
          'the body is not valid JSON: the member "id" occurs twice, with different values',
        ],
        [ERRORS.bodyNotValid, docs.refused.message],
        [errors.idTaken, `id ${page[0]?.id} belongs to ${one} with other content`],
        ...bodyErrors,
        ...further,
        unsupported(['application/json'], 'Accept-Post'),
      ),
    ),

    get: applyDecorators(
      operation(
        docs,
        `get${single}`,
        `Get ${one} by its id`,
        `The examples look up the ${plural} that the examples of “Create ${one}” create.`,
      ),
      ApiParam({
        name: 'id',
        description: `Identification number of the ${noun}, between ${MIN_INT64} and ${MAX_INT64}, in canonical decimal form.`,
        schema: INT64_SCHEMA,
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
        [errors.noSuch, `there is no ${noun} with id 404`],
        ERRORS.tooManyAnswers,
      ),
    ),

    list: applyDecorators(
      operation(
        docs,
        `list${many}`,
        `List ${plural}`,
        `Returns ${plural} in ascending order of their ids. If there are more, the \`Link\` header field leads to the next page. A parameter that is unknown or given twice is refused.`,
      ),
      ApiOkResponse({
        type: stored,
        isArray: true,
        description: `A page of ${plural}.`,
        headers: {
          Link: {
            description: `The next page with the same filters: \`</${plural}?limit=50&after=${page.at(-1)?.id}>; rel="next"\`. The last page has no such field (RFC 8288).`,
            schema: { type: 'string' },
          },
        },
        examples: { page: { summary: `A page of ${plural}`, value: page } },
      }),
      ApiErrors(
        [ERRORS.parameterNotValid, 'limit must be an integer between 1 and 1000'],
        ...(docs.hasSearch === true ? [ERRORS.searchTooSlow] : []),
        ERRORS.tooManyLists,
        ERRORS.tooManyAnswers,
      ),
    ),

    replace: applyDecorators(
      operation(
        docs,
        `replace${single}`,
        `Replace ${one}`,
        `Replaces all members of a stored ${noun}, except its id. Does not create ${one}.`,
      ),
      idParameter,
      ifMatch,
      ApiBody({
        type: replacement,
        required: true,
        description: 'The new content.',
        examples: docs.replacements,
      }),
      ApiOkResponse({
        type: stored,
        // RFC 9110, section 9.3.4.
        description: `The ${noun} as it is stored now. For its entity tag, look it up.`,
        examples: mapExamples(docs.replacements, (value) => ({ id: docs.changed, ...value })),
      }),
      ApiErrors(
        ERRORS.malformedJson,
        otherId,
        ...bodyErrors,
        ...changeErrors,
        ...further,
        unsupported(['application/json'], 'Accept'),
      ),
    ),

    patch: applyDecorators(
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
        type: patch,
        required: true,
        description: 'The members to change.',
        examples: docs.patches,
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
        ...bodyErrors,
        ...changeErrors,
        ...further,
        unsupported(PATCH_TYPES, 'Accept-Patch'),
      ),
    ),

    remove: applyDecorators(
      operation(
        docs,
        `delete${single}`,
        `Remove ${one}`,
        `Removes ${one}. Its id is free afterwards.`,
      ),
      idParameter,
      ifMatch,
      ApiNoContentResponse({ description: `The ${noun} is removed.` }),
      ApiErrors(...changeErrors, ...removal),
    ),

    ...apiTransfers(docs),
  };
}

function withoutId(example: StoredExample): object {
  const { id: _, ...content } = example;
  return content;
}

function mapExamples<Value extends object>(
  examples: Examples<Value>,
  change: (value: Value) => unknown,
) {
  return Object.fromEntries(
    Object.entries(examples).map(([name, { summary, value }]) => [
      name,
      { summary, value: change(value) },
    ]),
  );
}

/** What is stored after the last replacement and each patch. */
function patched({ changed, replacements, patches }: ResourceDocs) {
  let stored = { id: changed, ...Object.values(replacements).at(-1)?.value };
  return mapExamples(patches, (patch) => {
    const members = Object.entries({ ...stored, ...patch }).filter(([, value]) => value !== null);
    stored = { id: changed, ...Object.fromEntries(members) };
    return stored;
  });
}
