import { applyDecorators } from '@nestjs/common';
import type { ApiPropertyOptions } from '@nestjs/swagger';
import { Column } from 'typeorm';
import type { ColumnOptions } from 'typeorm';
import { Declares } from './kind.js';
import type { Kind } from './kind.js';
import { Field } from './property.js';
import type { PropertyOptions } from './property.js';

/** The options of a decorator that declares the column, too. */
export interface ColumnFieldOptions<Value> extends PropertyOptions<Value> {
  /**
   * What a create or a PUT stores without the property, which is then optional in their bodies. The column has it as well, for
   * statements of others.
   */
  readonly default?: Value;
  /** Further options of the column, such as its name. */
  readonly column?: ColumnOptions;
}

interface FieldParts {
  readonly schema: ApiPropertyOptions;
  readonly column: ColumnOptions;
  readonly kind?: Kind;
}

/** Declares a column, which is nullable if the property is optional, and the schema and the validations of its property. */
export function ColumnField<Value>(
  { default: initial, column: own, ...options }: ColumnFieldOptions<Value>,
  { schema, column, kind }: FieldParts,
  ...validations: readonly PropertyDecorator[]
): PropertyDecorator {
  const { isOptional = false } = options;
  const isDefault = initial !== undefined;
  if (isDefault && isOptional) {
    throw new TypeError('a property with a default always has a value: it cannot be optional');
  }
  return applyDecorators(
    Column({
      ...column,
      nullable: isOptional,
      ...(isDefault && { default: sqlDefault(initial, column.type) }),
      ...own,
    }),
    Field({ ...schema, ...options }, ...validations),
    Declares({ ...(kind && { kind }), ...(isDefault && { default: initial }) }),
  );
}

/** In the form in which TypeORM finds it in the database again, so that it generates no migration for it. */
function sqlDefault(value: unknown, type: ColumnOptions['type']): unknown {
  if (typeof value !== 'string') return value;
  // PostgreSQL puts only negative numbers between quotes.
  if (type === 'numeric' && !value.startsWith('-')) return () => value;
  // TypeORM does not double the quotes in a text.
  return value.replaceAll("'", "''");
}
