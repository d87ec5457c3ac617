import { ApiSchema } from '@nestjs/swagger';
import { ValidateIf } from 'class-validator';
import { PlantIdField } from '../../plants/dto/plant-fields.js';
import { PlantDto } from '../../plants/dto/plant.dto.js';

@ApiSchema({ name: 'PlantReplacement', description: 'The new content of a plant.' })
export class PlantReplacementDto extends PlantDto {
  @ValidateIf((_, value) => value !== undefined)
  @PlantIdField({ required: false, description: 'If present, the id in the path.' })
  readonly id?: bigint;
}
