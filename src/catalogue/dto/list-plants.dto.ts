import { After, Limit } from './list-parameters.js';
import { PlantFilterDto } from './plant-filter.dto.js';

export class ListPlantsDto extends PlantFilterDto {
  @Limit()
  readonly limit: number = 50;

  @After()
  readonly after?: bigint;
}
