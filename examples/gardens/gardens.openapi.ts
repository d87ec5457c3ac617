import { apiOperations } from '@resource-service/framework';
import {
  StoredGardenDto,
  GardenPatchDto,
  GardenReplacementDto,
  NewGardenDto,
} from './dto/garden.dto.js';
import { GARDEN_ERRORS } from './gardens.errors.js';
// #region plants
import { applyDecorators } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiParam } from '@nestjs/swagger';
import { ERRORS } from '@resource-service/framework';
import { ApiErrors } from '@resource-service/framework';
import { StoredPlantDto } from '../../src/plants/dto/plant.dto.js';
import { INT64_SCHEMA, int64ParameterRule } from '@resource-service/framework';
// #endregion

// #region plants
export function ApiGetPlantOfGarden(): MethodDecorator {
  return applyDecorators(
    ApiOperation({
      operationId: 'getPlantOfGarden',
      tags: ['gardens'],
      summary: 'Get the plant of a garden',
      description: 'Fails if the garden has no plant.',
    }),
    ApiParam({
      name: 'id',
      schema: { ...INT64_SCHEMA, example: 2003 },
      description: 'Id of the garden.',
    }),
    ApiOkResponse({ type: StoredPlantDto, description: 'The plant that grows there.' }),
    ApiErrors(
      [ERRORS.parameterNotValid, int64ParameterRule('id')],
      GARDEN_ERRORS.gardenNotFound,
      GARDEN_ERRORS.gardenHasNoPlant,
    ),
  );
}
// #endregion

/** The documentation of the operations. Its examples succeed if they are sent in this order, after the examples of plants. */
export const API = apiOperations({
  one: 'a garden',
  plural: 'gardens',
  operationIds: ['Garden', 'Gardens'],
  created: NewGardenDto,
  stored: StoredGardenDto,
  replacement: GardenReplacementDto,
  patch: GardenPatchDto,
  errors: {
    idTaken: GARDEN_ERRORS.gardenIdTaken,
    noSuch: GARDEN_ERRORS.gardenNotFound,
    // #region plants
    others: [GARDEN_ERRORS.gardenPlantNotFound],
    // #endregion
  },
  // #region plants
  hasSearch: true,
  // #endregion
  examples: {
    'with-note': {
      summary: 'A garden with a note',
      value: { id: 2001, name: 'Kitchen garden', note: 'South wall' },
    },
    'without-note': { summary: 'A garden without a note', value: { id: 2002, name: 'Yard' } },
    // #region plants
    'with-plant': {
      summary: 'A garden with a plant, which createPlant has stored',
      value: { id: 2003, name: 'Court', plantId: 1002 },
    },
    // #endregion
  },
  changed: 2001,
  replacements: {
    'with-note': { summary: 'A new name and a note', value: { name: 'Court', note: 'Shade' } },
  },
  patches: {
    note: { summary: 'Another note', value: { note: 'Sun' } },
    'no-note': { summary: 'No note', value: { note: null } },
  },
  imported: [
    { id: 2101, name: 'Orchard', note: 'Apples' },
    { id: 2102, name: 'Meadow' },
  ],
  refused: { body: [{ id: 2103, name: 'Bed' }, { id: 2104 }], message: 'name is missing' },
});
