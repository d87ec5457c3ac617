import { ApiProperty } from '@nestjs/swagger';
import { IsOptional } from 'class-validator';

/** A property whose constraints are of no interest. */
export function Any(): PropertyDecorator {
  return (target, name) => {
    ApiProperty({ type: 'string' })(target, name);
    IsOptional()(target, name);
  };
}
