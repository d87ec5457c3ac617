import { ApiProperty, ApiSchema } from '@nestjs/swagger';
import { ERROR_TABLE } from '../../errors/error-table.js';

const NUMBERS = Object.values(ERROR_TABLE)
  .map(({ number, message }) => `- ${number}: ${message}`)
  .join('\n');

/** The body of every answer that reports a failure. */
@ApiSchema({ name: 'Error', description: 'Why a request failed.' })
export class ErrorDto {
  @ApiProperty({
    type: 'integer',
    format: 'int32',
    description: `Numeric error indicator. Its first three digits are the HTTP status. A number never changes its meaning.\n\n${NUMBERS}`,
  })
  readonly error!: number;

  @ApiProperty({ type: 'string', description: 'Text describing the error.' })
  readonly message!: string;
}
