import { ApiProperty, ApiSchema } from '@nestjs/swagger';

@ApiSchema({ name: 'ImportSummary', description: 'The last line of a complete import.' })
export class ImportSummaryDto {
  @ApiProperty({ type: 'integer', description: 'Plants that the import has stored.' })
  readonly created!: number;

  @ApiProperty({
    type: 'integer',
    description: 'Plants that were stored before, with the same content.',
  })
  readonly unchanged!: number;

  @ApiProperty({ type: 'integer', description: 'Lines that were refused.' })
  readonly refused!: number;
}
