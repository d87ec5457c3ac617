import { Injectable } from '@nestjs/common';
import { ResourceRepository, ServiceException } from '@resource-service/framework';
import { StoredGardenDto } from './dto/garden.dto.js';
import type { ListGardensDto } from './dto/garden.dto.js';
import { Garden } from './garden.entity.js';
import { GARDEN_ERRORS } from './gardens.errors.js';
// #region plants
import { isEqual } from '@resource-service/framework';
// #endregion

@Injectable()
export class GardensRepository extends ResourceRepository<Garden, ListGardensDto>(Garden, {
  name: 'gardens',
  dto: StoredGardenDto,
  filters: {
    // #region plants
    plantId: isEqual('plant_id'),
    // #endregion
  },
  idTaken: (id) =>
    new ServiceException(
      GARDEN_ERRORS.gardenIdTaken,
      `id ${id} belongs to a garden with other content`,
    ),
  notFound: (id) =>
    new ServiceException(GARDEN_ERRORS.gardenNotFound, `there is no garden with id ${id}`),
  // #region plants
  constraints: { gardens_plant_id_fkey: GARDEN_ERRORS.gardenPlantNotFound },
  // #endregion
}) {}
