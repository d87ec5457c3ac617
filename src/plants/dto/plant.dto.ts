import { ApiSchema } from '@nestjs/swagger';
import { PlantNameField, PlantTagField } from './plant-fields.js';

@ApiSchema({ name: 'Plant', description: 'A plant without its id, as createPlant returns it.' })
export class PlantDto {
  @PlantNameField()
  readonly name!: string;

  @PlantTagField()
  readonly tag?: string;
}
