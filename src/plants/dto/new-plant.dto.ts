import { ApiSchema } from '@nestjs/swagger';
import { PlantIdField } from './plant-fields.js';
import { PlantDto } from './plant.dto.js';

@ApiSchema({ name: 'NewPlant', description: 'A plant to create.' })
export class NewPlantDto extends PlantDto {
  @PlantIdField()
  readonly id!: bigint;
}
