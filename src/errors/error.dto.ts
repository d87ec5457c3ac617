import { ApiProperty, ApiSchema } from '@nestjs/swagger';

/** Body of every answer that reports a failure. */
@ApiSchema({ name: 'Error', description: 'Says why a request failed.' })
export class ErrorDto {
  @ApiProperty({
    type: 'integer',
    format: 'int32',
    description: 'Numeric error indicator: the status times 100, plus a number of its own.',
  })
  readonly error!: number;

  @ApiProperty({ type: 'string', description: 'Text describing the error.' })
  readonly message!: string;
}
