import { ApiSchema } from '@nestjs/swagger';
import { ValidateIf } from 'class-validator';
import { BodyTypes } from '../../http/body/dto.pipe.js';
import { PATCH_TYPES } from '../../http/body/merge-patch.js';
import { PlantIdField, PlantNameField, PlantTagField } from '../../plants/dto/plant-fields.js';

@BodyTypes(...PATCH_TYPES)
@ApiSchema({
  name: 'PlantPatch',
  description: 'The members to change. Members that are absent stay as they are.',
})
export class PlantPatchDto {
  @ValidateIf((_, value) => value !== undefined)
  @PlantIdField({ required: false, description: 'If present, the id in the path.' })
  readonly id?: bigint;

  @ValidateIf((_, value) => value !== undefined)
  @PlantNameField({ required: false, description: 'The new name.' })
  readonly name?: string;

  @ValidateIf((_, value) => value !== null)
  @PlantTagField({ nullable: true, description: 'The new tag, or null to remove the tag.' })
  readonly tag?: string | null;
}
