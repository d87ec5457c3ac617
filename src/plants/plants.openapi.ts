import { applyDecorators } from '@nestjs/common';
import { ApiBody, ApiOkResponse, ApiOperation, ApiParam } from '@nestjs/swagger';
import { ApiErrors } from '../docs/api-errors.js';
import { NewPlantDto } from './dto/new-plant.dto.js';
import { PlantDto } from './dto/plant.dto.js';
import { StoredPlantDto } from './dto/stored-plant.dto.js';
import { PLANT_ID_SCHEMA } from './plant-id.js';

/* What the document says of each operation, apart from the controller that performs it. */

export function ApiCreatePlant(): MethodDecorator {
  return applyDecorators(
    ApiOperation({
      operationId: 'createPlant',
      summary: 'Create a plant',
      description:
        'Creates a new plant in the store. The same plant again is answered like the first time and changes nothing, so a request may be repeated when its answer was lost. Members that NewPlant does not name are ignored.',
    }),
    ApiBody({ type: NewPlantDto, required: true, description: 'Plant to add to the store.' }),
    ApiOkResponse({ type: PlantDto, description: 'The plant is stored.' }),
    ApiErrors(
      'malformed-json',
      'body-missing',
      'body-not-valid',
      'id-taken',
      'body-too-large',
      'unsupported-media-type',
    ),
  );
}

export function ApiGetPlant(): MethodDecorator {
  return applyDecorators(
    ApiOperation({ operationId: 'getPlant', summary: 'Get a plant by its id' }),
    ApiParam({
      name: 'id',
      description: 'Identification number of the plant, in canonical decimal form.',
      schema: PLANT_ID_SCHEMA,
      example: 7,
    }),
    ApiOkResponse({ type: StoredPlantDto, description: 'The plant with this id.' }),
    ApiErrors('parameter-not-valid', 'no-such-plant'),
  );
}
