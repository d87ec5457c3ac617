import { applyDecorators, Injectable } from '@nestjs/common';
import type { ArgumentMetadata, PipeTransform, Type } from '@nestjs/common';
import { ApiProperty } from '@nestjs/swagger';
import type { ApiPropertyOptions } from '@nestjs/swagger';
import { Transform } from 'class-transformer';
import { ValidateBy, ValidateIf } from 'class-validator';
import type { ValidationArguments } from 'class-validator';
import { ERRORS } from '../../errors/common-errors.js';
import { ServiceException } from '../../errors/service.exception.js';

export interface PropertyOptions<Example> {
  readonly description: string;
  readonly example?: Example;
  readonly isOptional?: boolean;
}

/**
 * Skips the validation of an absent property. Not `@IsOptional()`, which also lets null pass.
 *
 * @example
 * @IfPresent()
 * @IsText()
 * readonly note?: string;
 */
export function IfPresent(): PropertyDecorator {
  return ValidateIf((_, value) => value !== undefined);
}

export function Field(
  { isOptional = false, ...schema }: ApiPropertyOptions & { readonly isOptional?: boolean },
  ...validations: readonly PropertyDecorator[]
): PropertyDecorator {
  return applyDecorators(
    ApiProperty({ ...schema, required: !isOptional } as ApiPropertyOptions),
    ...(isOptional ? [IfPresent()] : []),
    ...validations,
  );
}

/** Converts a text. Other values, and texts that `parse` does not know, are left to the validation. */
export function Parsed(parse: (text: string) => unknown): PropertyDecorator {
  return Transform(({ obj, key }: { obj: Record<string, unknown>; key: string }) => {
    const value = obj[key];
    return typeof value === 'string' ? (parse(value) ?? value) : value;
  });
}

/** @param message may contain `$property` */
export function Satisfies(
  name: string,
  validate: (value: unknown, args: ValidationArguments) => boolean,
  message: string | ((args: ValidationArguments) => string),
): PropertyDecorator {
  const validator = {
    validate: (value: unknown, args?: ValidationArguments) => validate(value, args!),
  };
  return ValidateBy({ name, validator }, { message });
}

/** The class of a pipe for a path parameter. It throws ServiceException `parameter-not-valid`. */
export function ParameterPipe<Value>(
  parse: (text: string) => Value | undefined,
  messageFor: (name: string) => string,
): Type<PipeTransform<string, Value>> {
  @Injectable()
  class Pipe implements PipeTransform<string, Value> {
    transform(text: string, { data = 'the parameter' }: ArgumentMetadata): Value {
      const value = parse(text);
      if (value !== undefined) return value;
      throw new ServiceException(ERRORS.parameterNotValid, messageFor(data));
    }
  }
  return Pipe;
}
