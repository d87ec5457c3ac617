import { ApiProperty, ApiPropertyOptional, ApiSchema, OmitType } from '@nestjs/swagger';
import {
  BodyTypes,
  DtoOf,
  IfPresent,
  INT64_SCHEMA,
  IsInt64,
  IsText,
  PATCH_TYPES,
  PatchOf,
  ReplacementOf,
  TEXT_SCHEMA,
} from '@resource-service/framework';
import { Plant } from '../plant.entity.js';

/* Plant and NewPlant are published (`contract/`), so they spell out their properties. The others have all properties of the entity. */

@ApiSchema({ name: 'NewPlant', description: 'A plant to create.' })
export class NewPlantDto {
  @ApiProperty({
    ...INT64_SCHEMA,
    description: 'Identification number of the plant.',
    example: 7,
  })
  @IsInt64()
  readonly id!: bigint;

  @ApiProperty({
    ...TEXT_SCHEMA,
    description:
      'The name of the plant. It may be empty. It must not contain U+0000 or unpaired surrogates.',
    example: 'Monstera',
  })
  @IsText()
  readonly name!: string;

  @ApiPropertyOptional({
    ...TEXT_SCHEMA,
    description:
      'Tag that specifies the type of the plant. It must not contain U+0000 or unpaired surrogates.',
    example: 'indoor',
  })
  @IfPresent()
  @IsText()
  readonly tag?: string;
}

@ApiSchema({ name: 'Plant', description: 'A plant without its id, as createPlant returns it.' })
export class PlantDto extends OmitType(NewPlantDto, ['id']) {}

@ApiSchema({ name: 'StoredPlant', description: 'A plant with its id.' })
export class StoredPlantDto extends DtoOf(Plant) {}

@ApiSchema({ name: 'PlantReplacement', description: 'The new content of a plant.' })
export class PlantReplacementDto extends ReplacementOf(Plant) {}

@BodyTypes(...PATCH_TYPES)
@ApiSchema({
  name: 'PlantPatch',
  description: 'The fields to change. Fields that are absent stay as they are.',
})
export class PlantPatchDto extends PatchOf(Plant) {}
