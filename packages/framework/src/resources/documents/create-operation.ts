import type { Type } from '@nestjs/common';
import { ApiBody, ApiResponse } from '@nestjs/swagger';
import { ERRORS } from '../../errors/common-errors.js';
import { ApiRepeatable } from '../../http/responses/repeatable.js';
import { ApiErrors } from '../../http/errors/api-errors.js';
import { idempotencyErrors } from '../idempotency/idempotency-errors.js';
import { ApiIdempotencyKey } from '../idempotency/request-idempotency-key.decorator.js';
import {
  BODY_ERRORS,
  capital,
  headers,
  mapExamples,
  operation,
  propertiesIn,
  schemaName,
  unsupported,
} from './resource-docs.js';
import type { Document, Words } from './resource-docs.js';

export const create: Document = (words, { body, response, status, hasIdempotencyKey }) => {
  const { one, noun, errors, examples, dto, isIdChosen, Single } = words;
  return [
    ...(isIdChosen ? [ApiRepeatable()] : hasIdempotencyKey ? [ApiIdempotencyKey()] : []),
    operation(
      words,
      `create${Single}`,
      `Create ${one}`,
      `${isIdChosen ? chosenId(words) : madeId(words, hasIdempotencyKey)} Fields that ${schemaName(body)} does not define are ignored.`,
    ),
    ApiBody({
      type: body,
      required: true,
      description: `${capital(noun)} to add to the store.`,
      examples: mapExamples(examples.create, partIn(body)),
    }),
    ApiResponse({
      status,
      type: response,
      description: `The ${noun} is stored.`,
      ...(isIdChosen ? {} : { headers: { ...location(noun), ...words.entityTag } }),
      examples: response === dto ? examples.create : mapExamples(examples.create, partIn(response)),
      links: {
        [`get${Single}`]: {
          operationId: `get${Single}`,
          parameters: { id: isIdChosen ? '$request.body#/id' : '$response.body#/id' },
          description: `The ${noun} that was created.`,
        },
      },
    }),
    ApiErrors(
      ...BODY_ERRORS,
      [ERRORS.bodyNotValid, words.missing],
      ...(isIdChosen ? chosenIdErrors(words) : madeIdErrors(hasIdempotencyKey)),
      ...(errors.others ?? []),
      unsupported(['application/json'], 'Accept-Post'),
    ),
  ];
};

function chosenId({ one, noun, keepsRemoved }: Words): string {
  const others = keepsRemoved === true ? ', or to a removed one' : '';
  return `Creates a new ${noun} in the store. Creating the same ${noun} again, with the same id and content, succeeds and changes nothing, so a request whose response was lost can be sent again. If the id belongs to ${one} with other content${others}, the request fails and the stored ${noun} does not change.`;
}

function madeId({ one, noun }: Words, hasIdempotencyKey: boolean): string {
  const repeated = hasIdempotencyKey
    ? 'A request with an `Idempotency-Key` can be sent again for 24 hours, unless a million others came after it: it then creates nothing, and gets the first response. Without one, each request'
    : 'Each request';
  return `Creates a new ${noun}, whose id the store makes. ${repeated} creates ${one}.`;
}

function chosenIdErrors({ one, first, errors: { idTaken } }: Words) {
  if (idTaken === undefined) return [];
  const twice = 'the body is not valid JSON: the member "id" occurs twice, with different values';
  return [
    [ERRORS.malformedJson, twice],
    [idTaken, `id ${first.id} belongs to ${one} with other content`],
  ] as const;
}

function madeIdErrors(hasIdempotencyKey: boolean) {
  return [ERRORS.malformedJson, ...(hasIdempotencyKey ? keyErrors() : []), ERRORS.tooManyChanges];
}

function keyErrors() {
  const { responseNotKept, idempotencyKeyReused } = idempotencyErrors();
  return [ERRORS.parameterNotValid, responseNotKept, idempotencyKeyReused];
}

function location(noun: string) {
  return headers({ Location: `The path of the ${noun} (RFC 9110, section 10.2.2).` });
}

/** The part of an example that the schema of a class has. */
function partIn(type: Type) {
  const names = propertiesIn(type);
  return (example: object) =>
    Object.fromEntries(Object.entries(example).filter(([name]) => names.includes(name)));
}
