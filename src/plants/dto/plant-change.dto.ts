import { ApiProperty, ApiSchema } from '@nestjs/swagger';
import { INT64_SCHEMA } from '../../resources/int64.js';
import { StoredPlantDto } from './plant.dto.js';

const KINDS = ['created', 'replaced', 'removed'] as const;
const PRINCIPAL_KINDS = ['static-token', 'issued-token', 'jwt'] as const;

@ApiSchema({ name: 'Principal', description: 'Who has sent a request.' })
export class PrincipalDto {
  @ApiProperty({ enum: PRINCIPAL_KINDS, description: 'The kind of its token.' })
  readonly kind!: (typeof PRINCIPAL_KINDS)[number];

  @ApiProperty({
    type: 'string',
    description:
      'The id of an issued token, the subject of a JWT, or the name of the variable of a static token.',
    example: 'AUTH_TOKEN',
  })
  readonly id!: string;
}

@ApiSchema({ name: 'PlantChange', description: 'A record of a change of a plant.' })
export class PlantChangeDto {
  @ApiProperty({
    ...INT64_SCHEMA,
    description: 'Greater than the positions of all changes before.',
    example: 1,
  })
  readonly position!: bigint;

  @ApiProperty({
    type: 'string',
    format: 'date-time',
    description: 'When the change began. Changes with greater positions can have earlier times.',
  })
  readonly time!: string;

  @ApiProperty({ enum: KINDS, description: 'What has happened to the plant.' })
  readonly kind!: (typeof KINDS)[number];

  @ApiProperty({
    ...INT64_SCHEMA,
    description: 'Identification number of the plant.',
    example: 1001,
  })
  readonly id!: bigint;

  @ApiProperty({
    type: () => StoredPlantDto,
    required: false,
    description: 'The plant after the change. Absent if it was removed.',
  })
  readonly plant?: StoredPlantDto;

  @ApiProperty({ type: () => PrincipalDto, description: 'Who has made the change.' })
  readonly principal!: PrincipalDto;

  @ApiProperty({
    type: 'string',
    description: 'The `X-Request-Id` of the request that has made the change.',
    example: 'b3b0c1a4-6a0e-4a53-9d43-8f6a3b1f0c11',
  })
  readonly requestId!: string;
}

@ApiSchema({ name: 'LatestPosition', description: 'The position of the newest change.' })
export class LatestPositionDto {
  @ApiProperty({
    ...INT64_SCHEMA,
    description: 'Changes after this position are newer than this answer. 0 if there is none yet.',
    example: 2,
  })
  readonly position!: bigint;
}
