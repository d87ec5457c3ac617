import { applyDecorators } from '@nestjs/common';
import { Transform } from 'class-transformer';
import { toInteger } from '../../json/exact-json.js';
import { Declares } from './kind.js';
import type { Kind } from './kind.js';
import { Field, ParameterPipe, Parsed, Satisfies } from './property.js';
import type { PropertyOptions } from './property.js';

/* 64-bit integers, such as ids: `bigint` in TypeScript, `integer` of format `int64` in JSON, `bigint` in PostgreSQL. */

export const MIN_INT64 = -(2n ** 63n);
export const MAX_INT64 = 2n ** 63n - 1n;

/**
 * The schema of an `int64`. Swagger's types allow only numbers, but the document is written with exact digits.
 *
 * @example @ApiParam({ name: 'id', schema: { ...INT64_SCHEMA, example: 7 } })
 */
export const INT64_SCHEMA = {
  type: 'integer',
  format: 'int64',
  minimum: MIN_INT64 as unknown as number,
  maximum: MAX_INT64 as unknown as number,
} as const;

/**
 * The options of a column whose property is a `bigint`. pg returns int8 as text.
 *
 * @example
 * @Column(INT64_COLUMN)
 * @Int64Field({ description: 'The tool that is lent.', example: 2 })
 * readonly toolId!: bigint;
 */
export const INT64_COLUMN = {
  type: 'bigint',
  transformer: {
    from: (text: string | null) => (text === null ? null : BigInt(text)),
    to: (value: bigint | null | undefined) => (value === null ? null : value && String(value)),
  },
} as const;

function isInt64(value: unknown): value is bigint {
  return typeof value === 'bigint' && value >= MIN_INT64 && value <= MAX_INT64;
}

/** `undefined` for any other text than an integer in canonical decimal form. */
export function parseInt64(text: string): bigint | undefined {
  const value = /^(0|-?[1-9]\d{0,18})$/.test(text) ? BigInt(text) : undefined;
  return isInt64(value) ? value : undefined;
}

const RANGE = `must be an integer between ${MIN_INT64} and ${MAX_INT64}`;

/**
 * The message for a parameter of a path or a query that is no 64-bit integer.
 *
 * @example @ApiErrors([ERRORS.parameterNotValid, int64Constraint('id')])
 */
export function int64Constraint(name: string): string {
  return `${name} ${RANGE}, as digits without leading zeros`;
}

export const INT64: Kind<bigint> = {
  schema: INT64_SCHEMA,
  parse: parseInt64,
  constraintOf: int64Constraint,
};

/**
 * Declares the type, validation and schema of a property of type `bigint`.
 *
 * @example
 * @Column(INT64_COLUMN)
 * @Int64Field({ description: 'The tool that is lent.', example: 2 })
 * readonly toolId!: bigint;
 */
export function Int64Field(options: PropertyOptions<number>): PropertyDecorator {
  return Field({ ...INT64_SCHEMA, ...options }, IsInt64(), Declares({ kind: INT64 }));
}

/**
 * Declares a query parameter that is a 64-bit integer, in a property of type `bigint`.
 *
 * @example
 * @Int64Parameter('Only loans of this tool.')
 * readonly toolId?: bigint;
 */
export function Int64Parameter(description: string): PropertyDecorator {
  return Field(
    { ...INT64_SCHEMA, description, isOptional: true },
    Parsed(parseInt64),
    Satisfies('isInt64', isInt64, int64Constraint('$property')),
  );
}

/**
 * Requires a 64-bit integer in a body, and makes it a `bigint`. For the class of a DTO.
 *
 * @example
 * @ApiProperty({ ...INT64_SCHEMA, description: 'The number of the tool.' })
 * @IsInt64()
 * readonly id!: bigint;
 */
export function IsInt64(): PropertyDecorator {
  return applyDecorators(
    // From `obj`: in `value`, class-transformer loses the digits of a number that a double cannot hold.
    Transform(
      ({ obj, key }: { obj: Record<string, unknown>; key: string }) =>
        toInteger(obj[key]) ?? obj[key],
    ),
    Satisfies('isInt64', isInt64, `$property ${RANGE}`),
  );
}

/**
 * Parses a path parameter, percent-decoded: `/tools/%31` is `/tools/1` (RFC 3986, section 6.2.2.2). Only the canonical decimal form is
 * valid, so that each resource has a single path.
 *
 * @throws ServiceException `parameter-not-valid`
 *
 * @example find(@Param('id', Int64Pipe) id: bigint) {}
 */
export class Int64Pipe extends ParameterPipe(parseInt64, int64Constraint) {}
