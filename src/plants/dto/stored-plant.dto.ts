import { ApiSchema } from '@nestjs/swagger';
import { PlantIdField } from './plant-fields.js';
import { PlantDto } from './plant.dto.js';

@ApiSchema({ name: 'StoredPlant', description: 'A plant with its id.' })
export class StoredPlantDto extends PlantDto {
  @PlantIdField()
  readonly id!: bigint;
}
