import { ApiSchema } from '@nestjs/swagger';
import { PlantIdField, PlantNameField, PlantTagField } from './plant-fields.js';

@ApiSchema({ name: 'StoredPlant', description: 'A plant, as it is stored.' })
export class StoredPlantDto {
  @PlantIdField()
  readonly id!: bigint;

  @PlantNameField()
  readonly name!: string;

  @PlantTagField()
  readonly tag?: string;
}
