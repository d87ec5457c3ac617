import { applyDecorators, Injectable } from '@nestjs/common';
import type { ArgumentMetadata, PipeTransform } from '@nestjs/common';
import { ApiProperty } from '@nestjs/swagger';
import { Transform } from 'class-transformer';
import { ValidateBy } from 'class-validator';
import { ERRORS } from '../../errors/common-errors.js';
import { ServiceException } from '../../errors/service.exception.js';
import { toInteger } from '../../json/exact-json.js';
import { IfPresent } from './if-present.js';
import type { Member } from './if-present.js';

/* 64-bit integers, such as ids: `bigint` in TypeScript, `integer` of format `int64` in JSON, `bigint` in PostgreSQL. */

export const MIN_INT64 = -(2n ** 63n);
export const MAX_INT64 = 2n ** 63n - 1n;

/** Swagger's types allow only numbers, but the document is written with exact digits. */
export const INT64_SCHEMA = {
  type: 'integer',
  format: 'int64',
  minimum: MIN_INT64 as unknown as number,
  maximum: MAX_INT64 as unknown as number,
} as const;

/** The options of a column: `@Column(INT64_COLUMN)`. pg returns int8 as text. */
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

/** The message for any other value. */
export function int64Rule(name: string): string {
  return `${name} must be an integer between ${MIN_INT64} and ${MAX_INT64}`;
}

export function int64ParameterRule(name: string): string {
  return `${int64Rule(name)}, in canonical decimal form`;
}

/** Declares the type, validation and schema of a property of type `bigint`. */
export function Int64Field({ isOptional = false, ...schema }: Member<number>): PropertyDecorator {
  return applyDecorators(
    ApiProperty({ ...INT64_SCHEMA, ...schema, required: !isOptional }),
    ...(isOptional ? [IfPresent()] : []),
    IsInt64(),
  );
}

/**
 * Requires a 64-bit integer in a body, and makes it a `bigint`. In the class of a DTO:
 *
 * ```ts
 * @ApiProperty({ ...INT64_SCHEMA, description: 'The number of the tool.' })
 * @IsInt64()
 * readonly id!: bigint;
 * ```
 */
export function IsInt64(): PropertyDecorator {
  return applyDecorators(
    // From `obj`: in `value`, class-transformer loses the digits of a number that a double cannot hold.
    Transform(
      ({ obj, key }: { obj: Record<string, unknown>; key: string }) =>
        toInteger(obj[key]) ?? obj[key],
    ),
    IsInt64Value(int64Rule),
  );
}

export function IsInt64Value(ruleOf: (name: string) => string): PropertyDecorator {
  return ValidateBy({
    name: 'isInt64',
    validator: { validate: isInt64, defaultMessage: () => ruleOf('$property') },
  });
}

/** Parses a path parameter. Only the canonical decimal form is valid, so that each resource has a single path. */
@Injectable()
export class Int64Pipe implements PipeTransform<string, bigint> {
  /**
   * @param text percent-decoded: `/tools/%31` is `/tools/1` (RFC 3986, section 6.2.2.2)
   * @throws ServiceException `parameter-not-valid`
   */
  transform(text: string, { data = 'the parameter' }: ArgumentMetadata): bigint {
    const value = parseInt64(text);
    if (value !== undefined) return value;
    throw new ServiceException(ERRORS.parameterNotValid, int64ParameterRule(data));
  }
}
