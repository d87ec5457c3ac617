import { applyDecorators } from '@nestjs/common';
import { ApiProperty } from '@nestjs/swagger';
import { ValidateBy } from 'class-validator';
import { IfPresent } from './if-present.js';
import type { Member } from './if-present.js';

interface IntegerMember extends Member<number> {
  readonly minimum: number;
  readonly maximum: number;
}

/**
 * Declares the type, validation and schema of a property of type `number`, of a column `integer` or `smallint`. The bounds must
 * be safe integers within the range of the column.
 */
export function IntegerField({ isOptional = false, ...schema }: IntegerMember): PropertyDecorator {
  const { minimum, maximum } = schema;
  return applyDecorators(
    ApiProperty({ type: 'integer', ...schema, required: !isOptional }),
    ...(isOptional ? [IfPresent()] : []),
    ValidateBy({
      name: 'isInteger',
      validator: {
        validate: (value) => Number.isInteger(value) && value >= minimum && value <= maximum,
        defaultMessage: () => `$property must be an integer between ${minimum} and ${maximum}`,
      },
    }),
  );
}
