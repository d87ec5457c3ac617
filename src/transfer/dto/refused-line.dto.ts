import { ApiProperty, ApiSchema } from '@nestjs/swagger';
import { ErrorDto } from '../../errors/error.dto.js';

@ApiSchema({ name: 'RefusedLine', description: 'Why a line of an import was refused.' })
export class RefusedLineDto extends ErrorDto {
  @ApiProperty({ type: 'integer', description: 'The number of the line, from 1.' })
  readonly line!: number;
}
