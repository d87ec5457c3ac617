import { After } from '../../catalogue/dto/list-parameters.js';
import { PlantFilterDto } from '../../catalogue/dto/plant-filter.dto.js';

export class ExportPlantsDto extends PlantFilterDto {
  @After()
  readonly after?: bigint;
}
