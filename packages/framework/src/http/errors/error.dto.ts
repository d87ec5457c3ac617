import { ApiProperty, ApiSchema } from '@nestjs/swagger';

@ApiSchema({ name: 'Error', description: 'Why a request failed.' })
export class ErrorDto {
  // The document adds the numbers of all resources (`openapi/openapi.ts`).
  @ApiProperty({
    type: 'integer',
    format: 'int32',
    description:
      'Numeric error indicator. Its first three digits are the HTTP status. A number never changes its meaning.',
  })
  readonly error!: number;

  @ApiProperty({ type: 'string', description: 'Text describing the error.' })
  readonly message!: string;
}
