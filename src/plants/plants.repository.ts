import { Injectable } from '@nestjs/common';
import { recordChanges } from '@resource-service/changes';
import { ResourceRepository, ServiceException } from '@resource-service/framework';
import { StoredPlantDto } from './dto/plant.dto.js';
import { PlantChange } from './plant-change.entity.js';
import { Plant } from './plant.entity.js';
import { PLANT_ERRORS } from './plants.errors.js';
import { PLANT_FILTERS } from './plants.filters.js';

@Injectable()
export class PlantsRepository extends ResourceRepository(Plant, {
  name: 'plants',
  dto: StoredPlantDto,
  filters: PLANT_FILTERS,
  idTaken: (id) =>
    new ServiceException(PLANT_ERRORS.idTaken, `id ${id} belongs to a plant with other content`),
  notFound: (id) =>
    new ServiceException(PLANT_ERRORS.noSuchPlant, `there is no plant with id ${id}`),
  search: { index: 'plants_name_search_idx', property: 'name' },
  changes: recordChanges(PlantChange, 'plant'),
}) {}
