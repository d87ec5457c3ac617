import { applyDecorators } from '@nestjs/common';
import {
  ApiBody,
  ApiConsumes,
  ApiHeader,
  ApiNoContentResponse,
  ApiOkResponse,
  ApiOperation,
  ApiParam,
} from '@nestjs/swagger';
import { ERRORS } from '../errors/common-errors.js';
import { PLANT_ERRORS } from '../plants/plants.errors.js';
import { ApiErrors } from '../http/errors/api-errors.js';
import { ENTITY_TAGS_SCHEMA } from '../http/answers/entity-tag.js';
import { PATCH_TYPES } from '../http/body/merge-patch.js';
import { StoredPlantDto } from '../plants/dto/stored-plant.dto.js';
import { PLANT_ID_PATH_RULE, PLANT_ID_SCHEMA } from '../plants/plant-id.js';
import { ENTITY_TAG } from '../plants/plants.openapi.js';
import { PlantPatchDto } from './dto/plant-patch.dto.js';
import { PlantReplacementDto } from './dto/plant-replacement.dto.js';

/* The documentation of each operation. Its examples succeed if they are sent in the order of the document, after the
   examples of createPlant. */

const IF_MATCH = ApiHeader({
  name: 'If-Match',
  required: false,
  description:
    'Changes the plant only if it still has one of these entity tags, otherwise the request fails with 412. `*` stands for any tag.',
  schema: ENTITY_TAGS_SCHEMA,
});

const PRECONDITION = [PLANT_ERRORS.noSuchPlant, ERRORS.preconditionFailed] as const;

const ID_PARAMETER = ApiParam({
  name: 'id',
  description: 'Identification number of the plant, in canonical decimal form.',
  schema: { ...PLANT_ID_SCHEMA, example: 1003 },
});

export function ApiListPlants(): MethodDecorator {
  return applyDecorators(
    ApiOperation({
      operationId: 'listPlants',
      tags: ['plants'],
      summary: 'List plants',
      description:
        'Returns plants in ascending order of their ids. If there are more, the `Link` header field leads to the next page. A parameter that is unknown or given twice is refused.',
    }),
    ApiOkResponse({
      type: StoredPlantDto,
      isArray: true,
      description: 'A page of plants.',
      headers: {
        Link: {
          description:
            'The next page with the same filters: `</plants?limit=50&after=1002>; rel="next"`. The last page has no such field (RFC 8288).',
          schema: { type: 'string' },
        },
      },
      examples: {
        page: {
          summary: 'A page of two plants',
          value: [
            { id: 1001, name: 'Monstera', tag: 'indoor' },
            { id: 1003, name: 'Ficus' },
          ],
        },
      },
    }),
    ApiErrors(
      [ERRORS.parameterNotValid, 'limit must be an integer between 1 and 1000'],
      ERRORS.searchTooSlow,
    ),
  );
}

export function ApiReplacePlant(): MethodDecorator {
  return applyDecorators(
    ApiOperation({
      operationId: 'replacePlant',
      tags: ['plants'],
      summary: 'Replace a plant',
      description: 'Replaces the name and the tag of a stored plant. Does not create a plant.',
    }),
    ID_PARAMETER,
    IF_MATCH,
    ApiBody({
      type: PlantReplacementDto,
      required: true,
      description: 'The new content.',
      examples: {
        'with-tag': {
          summary: 'A new name and a tag',
          value: { name: 'Weeping fig', tag: 'indoor' },
        },
        'without-tag': { summary: 'Without a tag', value: { name: 'Ficus' } },
      },
    }),
    ApiOkResponse({
      type: StoredPlantDto,
      // RFC 9110, section 9.3.4.
      description: 'The plant as it is stored now. For its entity tag, look it up.',
      examples: {
        'with-tag': {
          summary: 'A new name and a tag',
          value: { id: 1003, name: 'Weeping fig', tag: 'indoor' },
        },
        'without-tag': { summary: 'Without a tag', value: { id: 1003, name: 'Ficus' } },
      },
    }),
    ApiErrors(
      ERRORS.malformedJson,
      ERRORS.bodyMissing,
      [ERRORS.bodyNotValid, 'id must be the id in the path, 1003'],
      [ERRORS.parameterNotValid, PLANT_ID_PATH_RULE],
      ...PRECONDITION,
      ERRORS.bodyTooLarge,
      [
        ERRORS.unsupportedMediaType,
        'the body must be application/json in UTF-8, without Content-Encoding; the request has Content-Type "text/plain"',
        ['Accept'],
      ],
    ),
  );
}

export function ApiPatchPlant(): MethodDecorator {
  return applyDecorators(
    ApiOperation({
      operationId: 'patchPlant',
      tags: ['plants'],
      summary: 'Change members of a plant',
      description:
        'Applies a JSON Merge Patch (RFC 7396): changes the members that the body has. `"tag": null` removes the tag.',
    }),
    ID_PARAMETER,
    IF_MATCH,
    ApiConsumes(...PATCH_TYPES),
    ApiBody({
      type: PlantPatchDto,
      required: true,
      description: 'The members to change.',
      examples: {
        tag: { summary: 'Another tag', value: { tag: 'balcony' } },
        'no-tag': { summary: 'No tag', value: { tag: null } },
      },
    }),
    ApiOkResponse({
      type: StoredPlantDto,
      description: 'The plant as it is stored now.',
      headers: ENTITY_TAG,
      examples: {
        tag: { summary: 'Another tag', value: { id: 1003, name: 'Ficus', tag: 'balcony' } },
        'no-tag': { summary: 'No tag', value: { id: 1003, name: 'Ficus' } },
      },
    }),
    ApiErrors(
      ERRORS.malformedJson,
      ERRORS.bodyMissing,
      [ERRORS.bodyNotValid, 'name must be a string'],
      [ERRORS.parameterNotValid, PLANT_ID_PATH_RULE],
      ...PRECONDITION,
      ERRORS.bodyTooLarge,
      [
        ERRORS.unsupportedMediaType,
        'the body must be application/merge-patch+json or application/json in UTF-8, without Content-Encoding; the request has Content-Type "text/plain"',
        ['Accept-Patch'],
      ],
    ),
  );
}

export function ApiDeletePlant(): MethodDecorator {
  return applyDecorators(
    ApiOperation({
      operationId: 'deletePlant',
      tags: ['plants'],
      summary: 'Remove a plant',
      description: 'Removes a plant. Its id is free afterwards.',
    }),
    ID_PARAMETER,
    IF_MATCH,
    ApiNoContentResponse({ description: 'The plant is removed.' }),
    ApiErrors([ERRORS.parameterNotValid, PLANT_ID_PATH_RULE], ...PRECONDITION),
  );
}
