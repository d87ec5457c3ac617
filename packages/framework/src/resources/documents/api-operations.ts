import { applyDecorators } from '@nestjs/common';
import { ApiBody, ApiCreatedResponse, ApiOkResponse } from '@nestjs/swagger';
import { ERRORS } from '../../errors/common-errors.js';
import { membersOf } from '../../http/body/dto.pipe.js';
import { ApiRepeatable } from '../../http/answers/repeatable.js';
import { ApiErrors } from '../../http/errors/api-errors.js';
import { apiExport, apiImport } from './api-transfers.js';
import { idempotencyErrors } from '../idempotency/idempotency-errors.js';
import { ApiIdempotencyKey } from '../idempotency/request-idempotency-key.decorator.js';
import {
  BODY_ERRORS,
  capital,
  entityTagHeader,
  mapExamples,
  operation,
  schemaName,
  unsupported,
} from './resource-docs.js';
import type { GeneratedDocs, ResourceDocs, StoredExample } from './resource-docs.js';
import { storedOperations } from './stored-operations.js';

/* The documentation of the operations that resources have. */

/** The decorators of the operations of a resource whose clients choose the id. */
export function apiOperations(docs: ResourceDocs) {
  const { one, stored, errors } = docs;
  const noun = one.replace(/^an? /, '');
  const [single] = docs.operationIds;
  const [first] = Object.values(docs.examples);
  return {
    create: applyDecorators(
      ApiRepeatable(),
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
        [errors.idTaken, `id ${first?.value.id} belongs to ${one} with other content`],
        ...BODY_ERRORS,
        ...(errors.others ?? []),
        unsupported(['application/json'], 'Accept-Post'),
      ),
    ),
    ...storedOperations(docs, {
      lookUp: `The examples look up the ${docs.plural} that the examples of “Create ${one}” create.`,
      removed: 'Its id is free afterwards.',
    }),
    import: apiImport(docs),
    export: apiExport(docs, docs.imported, ' The answer can be imported.'),
  };
}

/** The decorators of the operations of a resource whose ids the database makes. It has no import. */
export function apiGeneratedOperations(docs: GeneratedDocs) {
  const { one, stored, errors } = docs;
  const noun = one.replace(/^an? /, '');
  const [single] = docs.operationIds;
  const members = membersOf(docs.created);
  const rows = Object.values(docs.examples).map(({ value }) => value);
  return {
    create: applyDecorators(
      operation(
        docs,
        `create${single}`,
        `Create ${one}`,
        `Creates a new ${noun}, whose id the store makes. A request with an \`Idempotency-Key\` can be sent again for 24 hours, unless a million others came after it: it then creates nothing, and gets the first answer. Without one, each request creates ${one}. Members that ${schemaName(docs.created)} does not define are ignored.`,
      ),
      ApiIdempotencyKey(),
      ApiBody({
        type: docs.created,
        required: true,
        description: `${capital(noun)} to add to the store.`,
        examples: mapExamples(docs.examples, (example) =>
          Object.fromEntries(Object.entries(example).filter(([name]) => members.has(name))),
        ),
      }),
      ApiCreatedResponse({
        type: stored,
        description: `The ${noun} is stored.`,
        headers: {
          Location: {
            description: `The path of the ${noun} (RFC 9110, section 10.2.2).`,
            schema: { type: 'string' },
          },
          ...entityTagHeader(noun),
        },
        examples: docs.examples,
        links: {
          [`get${single}`]: {
            operationId: `get${single}`,
            parameters: { id: '$response.body#/id' },
            description: `The ${noun} that was created.`,
          },
        },
      }),
      ApiErrors(
        ERRORS.malformedJson,
        [ERRORS.bodyNotValid, docs.refused.message],
        ERRORS.parameterNotValid,
        idempotencyErrors().responseNotKept,
        idempotencyErrors().idempotencyKeyReused,
        ERRORS.tooManyChanges,
        ...BODY_ERRORS,
        ...(errors.others ?? []),
        unsupported(['application/json'], 'Accept-Post'),
      ),
    ),
    ...storedOperations(docs, {
      lookUp: `Returns the ${noun} with this id.`,
      removed: 'Its id is not used again.',
    }),
    export: apiExport(docs, rows.slice(0, 2)),
  };
}

function withoutId(example: StoredExample): object {
  const { id: _, ...content } = example;
  return content;
}
