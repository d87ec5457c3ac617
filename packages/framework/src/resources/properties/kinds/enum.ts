import { applyDecorators } from '@nestjs/common';
import { Check } from 'typeorm';
import { ColumnField } from '../column-field.js';
import type { ColumnFieldOptions } from '../column-field.js';
import type { Kind } from '../kind.js';
import { Satisfies } from '../property.js';

/**
 * Declares a property whose value is one of these texts, with a column `text` and a CHECK. Not an `enum` of PostgreSQL, from which no
 * value can be removed.
 *
 * @example
 * const STATUSES = ['requested', 'approved'] as const;
 *
 * @EnumField(STATUSES, { description: 'What has become of it.' })
 * readonly status!: (typeof STATUSES)[number];
 */
export function EnumField<Value extends string>(
  values: readonly Value[],
  options: ColumnFieldOptions<NoInfer<Value>>,
): PropertyDecorator {
  const find = (value: unknown) => values.find((each) => each === value);
  const schema = { type: 'string' as const, enum: [...values] };
  const kind: Kind<Value> = {
    schema,
    parse: find,
    constraintOf: (name) => `${name} must be one of ${values.join(', ')}`,
  };
  const list = values.map((value) => `'${value.replaceAll("'", "''")}'`).join(', ');
  return applyDecorators(
    ColumnField(
      options,
      { schema, column: { type: 'text' }, kind },
      Satisfies('isOneOf', (value) => find(value) !== undefined, kind.constraintOf('$property')),
    ),
    // TypeORM names it after its expression, so a generated migration replaces it when the values change.
    (target: object, property: string | symbol) =>
      Check(`"${options.column?.name ?? String(property)}" IN (${list})`)(target, property),
  );
}
