import { OmitType } from '@nestjs/swagger';
import { Exclude, Expose, plainToInstance, Transform, Type } from 'class-transformer';
import {
  Allow,
  IsArray,
  IsDefined,
  IsInt,
  IsOptional,
  IsString,
  MaxLength,
  registerDecorator,
  Validate,
  ValidateIf,
  ValidateNested,
  validateSync,
  ValidatorConstraint,
} from 'class-validator';
import type { ValidatorConstraintInterface } from 'class-validator';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isValid, toInstance, TRANSFORM_OPTIONS } from '../../src/http/body/class-plan.js';
import { requireDto } from '../../src/http/body/dto.pipe.js';
import { ToolDto } from '../support/tool.js';

@ValidatorConstraint({ name: 'isShort' })
class Short implements ValidatorConstraintInterface {
  validate(value: unknown): boolean {
    return String(value).length < 5;
  }
}

@ValidatorConstraint({ async: true })
class Late implements ValidatorConstraintInterface {
  validate(): Promise<boolean> {
    return Promise.reject(new Error('never asked'));
  }
}

/** As in class-validator's documentation. */
function IsLongerThan(property: string): PropertyDecorator {
  return (target, propertyName) =>
    registerDecorator({
      name: 'isLongerThan',
      target: target.constructor,
      propertyName: String(propertyName),
      constraints: [property],
      validator: {
        validate: (value, args) =>
          String(value).length > String((args!.object as Record<string, unknown>)[property]).length,
      },
    });
}

class Flat {
  @IsString()
  @MaxLength(3)
  a!: string;

  @IsOptional()
  @IsInt({ groups: ['one'] })
  @Expose({ name: 'be' })
  b = 1;

  @ValidateIf((_, value) => value !== undefined)
  @Validate(Short)
  @Validate(Late)
  @Transform(({ value }) => (typeof value === 'string' ? value.trim() : (value as unknown)))
  c?: string;

  @IsInt({ each: true, validateIf: (_, value) => value !== 'd' })
  d?: unknown;

  @IsDefined()
  @IsLongerThan('a')
  e?: unknown;

  @Allow()
  f: unknown = 'f';
}

class Heir extends Flat {
  @MaxLength(5)
  override a = 'a';

  @IsOptional()
  @IsString()
  get g(): string {
    return 'g';
  }
}

class Settable extends Flat {
  @IsOptional()
  @IsString()
  set g(value: string) {
    this.f = value;
  }
}

class Omitted extends OmitType(Flat, ['d', 'e']) {}

class Nested {
  @ValidateNested()
  @Type(() => Omitted)
  a?: Omitted;

  @ValidateNested({ each: true })
  @Type(() => Omitted)
  b?: Omitted[];

  @IsArray()
  @ValidateNested({ each: true })
  c?: unknown;
}

class Grouped {
  @IsString()
  @Expose({ groups: ['one'] })
  a?: string;

  @IsString()
  b?: string;
}

class Swapped {
  @IsString()
  @Expose({ name: 'b' })
  a?: string;

  @IsString()
  b?: string;
}

@Expose()
class Open {
  @IsString()
  a?: string;
}

class Partly {
  @IsString()
  @Exclude()
  a?: string;

  @IsString()
  b?: string;
}

const NAMES = ['a', 'b', 'be', 'c', 'd', 'e', 'f', 'g', 'id', 'name'];

const objectOf = <Value>(values: fc.Arbitrary<Value>, ...others: string[]) =>
  fc.dictionary(fc.constantFrom(...NAMES, ...others), values, {
    maxKeys: 8,
    noNullPrototype: true,
  });

const { any } = fc.letrec((tie) => ({
  any: fc.oneof(
    { maxDepth: 3 },
    fc.constantFrom(undefined, null, true, 0, 7, 1.5, 'a', ' ab ', 'abcd', 'abcdef', 'd'),
    fc.array(tie('any'), { maxLength: 3 }),
    objectOf(tie('any')),
  ),
}));

describe.each([Flat, Heir, Settable, Omitted, Nested, Grouped, Swapped, Open, Partly, ToolDto])(
  'a plan for %o',
  (type: new () => object) => {
    requireDto(type);

    it('makes what class-transformer makes, and accepts what class-validator accepts', () => {
      fc.assert(
        fc.property(objectOf(any, 'constructor', '__proto__'), (given) => {
          const made = toInstance(type, given);
          const wanted = plainToInstance(type, given, TRANSFORM_OPTIONS);
          expect(made).toStrictEqual(wanted);
          expect(Object.keys(made)).toEqual(Object.keys(wanted));
          expect(isValid(made)).toBe(validateSync(wanted).length === 0);
        }),
        { numRuns: 1_000 },
      );
    });
  },
);

it('an object without a class, or one that names a class itself, is left to class-validator', () => {
  for (const object of [{}, { constructor: 'a' }, { constructor: { name: 'a' } }]) {
    expect(isValid(object)).toBe(false);
  }
});
