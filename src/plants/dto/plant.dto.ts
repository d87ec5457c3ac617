import { ApiSchema } from '@nestjs/swagger';
import { PlantNameField, PlantTagField } from './plant-fields.js';

@ApiSchema({ name: 'Plant', description: 'A plant, as the store answers a creation.' })
export class PlantDto {
  @PlantNameField()
  readonly name!: string;

  @PlantTagField()
  readonly tag?: string;
}
