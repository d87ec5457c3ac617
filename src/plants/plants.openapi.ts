import { applyDecorators } from '@nestjs/common';
import {
  ApiBody,
  ApiHeader,
  ApiNotModifiedResponse,
  ApiOkResponse,
  ApiOperation,
  ApiParam,
} from '@nestjs/swagger';
import { ERRORS } from '../errors/common-errors.js';
import { PLANT_ERRORS } from './plants.errors.js';
import { ApiErrors } from '../http/errors/api-errors.js';
import { ENTITY_TAGS_SCHEMA } from '../http/answers/entity-tag.js';
import { NewPlantDto } from './dto/new-plant.dto.js';
import { PlantDto } from './dto/plant.dto.js';
import { StoredPlantDto } from './dto/stored-plant.dto.js';
import {
  MAX_PLANT_ID,
  MIN_PLANT_ID,
  PLANT_ID_PATH_RULE,
  PLANT_ID_RULE,
  PLANT_ID_SCHEMA,
} from './plant-id.js';

/* What the document says of each operation, apart from the controller that performs it. */

/** The entity tag in the header fields of an answer. */
export const ENTITY_TAG = {
  ETag: {
    description:
      'The entity tag of the plant, for `If-Match` and `If-None-Match` (RFC 9110, section 8.8.3).',
    schema: { type: 'string' as const },
  },
};

interface PlantExample {
  readonly summary: string;
  readonly id: number | bigint;
  readonly plant: { readonly name: string; readonly tag?: string };
}

/**
 * Plants to create and to look up, in this order. Each has its own id, so that every request succeeds. One id
 * is above 2^53: it shows which tools round.
 */
const EXAMPLES: Readonly<Record<string, PlantExample>> = {
  'a-plant': {
    summary: 'A plant with a tag',
    id: 1001,
    plant: { name: 'Monstera', tag: 'indoor' },
  },
  'any-text': {
    summary: 'Text of any script comes back as it was',
    id: 1002,
    plant: { name: '月下美人 “Queen of the Night” 🌵', tag: "l'épiphyte" },
  },
  'long-id': {
    summary: 'An id that many JSON parsers round: 2^53 + 1',
    id: 9007199254740993n,
    plant: { name: 'Welwitschia', tag: 'desert' },
  },
  'without-tag': {
    summary: 'A plant without a tag',
    id: 1003,
    plant: { name: 'Ficus' },
  },
};

export function ApiCreatePlant(): MethodDecorator {
  return applyDecorators(
    ApiOperation({
      operationId: 'createPlant',
      tags: ['plants'],
      summary: 'Create a plant',
      description:
        'Creates a new plant in the store. Creating the same plant again, with the same id and content, succeeds and changes nothing, so a request whose answer was lost can be sent again. If the id belongs to a plant with other content, the request fails and the stored plant does not change. Members that NewPlant does not define are ignored.',
    }),
    ApiBody({
      type: NewPlantDto,
      required: true,
      description: 'Plant to add to the store.',
      examples: examples(({ id, plant }) => ({ id, ...plant })),
    }),
    ApiOkResponse({
      type: PlantDto,
      description: 'The plant is stored.',
      examples: examples(({ plant }) => plant),
      links: {
        getPlant: {
          operationId: 'getPlant',
          parameters: { id: '$request.body#/id' },
          description: 'The plant that was created.',
        },
      },
    }),
    ApiErrors(
      [
        ERRORS.malformedJson,
        'the body is not valid JSON: the member "id" occurs twice, with different values',
      ],
      ERRORS.bodyMissing,
      [ERRORS.bodyNotValid, `${PLANT_ID_RULE}; name must be a string`],
      [PLANT_ERRORS.idTaken, `id ${EXAMPLES['a-plant']?.id} belongs to a plant with other content`],
      ERRORS.bodyTooLarge,
      [
        ERRORS.unsupportedMediaType,
        'the body must be application/json in UTF-8, without Content-Encoding; the request has Content-Type "text/plain"',
        ['Accept-Post'],
      ],
    ),
  );
}

export function ApiGetPlant(): MethodDecorator {
  return applyDecorators(
    ApiOperation({
      operationId: 'getPlant',
      tags: ['plants'],
      summary: 'Get a plant by its id',
      description: 'The examples look up the plants that the examples of createPlant create.',
    }),
    ApiParam({
      name: 'id',
      description: `Identification number of the plant, between ${MIN_PLANT_ID} and ${MAX_PLANT_ID}, in canonical decimal form.`,
      schema: PLANT_ID_SCHEMA,
      examples: examples(({ id }) => id),
    }),
    ApiHeader({
      name: 'If-None-Match',
      required: false,
      description:
        'Entity tags that the client has. If the plant still has one of them, the answer is 304, without a body.',
      schema: ENTITY_TAGS_SCHEMA,
    }),
    ApiOkResponse({
      type: StoredPlantDto,
      description: 'The plant with this id.',
      headers: ENTITY_TAG,
      examples: examples(({ id, plant }) => ({ id, ...plant })),
    }),
    ApiNotModifiedResponse({
      description: 'The client has the plant as it is stored.',
      headers: ENTITY_TAG,
    }),
    ApiErrors(
      [ERRORS.parameterNotValid, PLANT_ID_PATH_RULE],
      [PLANT_ERRORS.noSuchPlant, 'there is no plant with id 404'],
    ),
  );
}

function examples<Value>(valueOf: (example: PlantExample) => Value) {
  return Object.fromEntries(
    Object.entries(EXAMPLES).map(([name, example]) => [
      name,
      { summary: example.summary, value: valueOf(example) },
    ]),
  );
}
