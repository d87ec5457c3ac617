import { validateSync } from 'class-validator';
import { describe, expect, it } from 'vitest';
import { Int64Field } from '../../src/resources/properties/int64.js';
import { IntegerField } from '../../src/resources/properties/integer.js';
import { declarationOf } from '../../src/resources/properties/kind.js';
import { BooleanField } from '../../src/resources/properties/kinds/boolean.js';
import { DateField } from '../../src/resources/properties/kinds/date.js';
import { DecimalField } from '../../src/resources/properties/kinds/decimal.js';
import { DoubleField } from '../../src/resources/properties/kinds/double.js';
import { EnumField } from '../../src/resources/properties/kinds/enum.js';
import { JsonField } from '../../src/resources/properties/kinds/json.js';
import type { JsonValue } from '../../src/resources/properties/kinds/json.js';
import { TextField } from '../../src/resources/properties/text.js';
import { TimestampField } from '../../src/resources/properties/timestamp.js';
import { UuidField } from '../../src/resources/properties/uuid.js';

class Sample {
  @Int64Field({ description: 'A large number.' })
  readonly large!: bigint;

  @IntegerField({ description: 'A small number.', minimum: -5, maximum: 99 })
  readonly small!: number;

  @TextField({ description: 'A text.', maxLength: 2 })
  readonly text!: string;

  @TimestampField({ description: 'A time.' })
  readonly time!: Date;

  @UuidField({ description: 'A UUID.' })
  readonly uuid!: string;

  @BooleanField({ description: 'Whether it is new.' })
  readonly isNew!: boolean;

  @DateField({ description: 'A day.' })
  readonly day!: string;

  @DecimalField({ description: 'A price.', precision: 4, scale: 2 })
  readonly price!: string;

  @DoubleField({ description: 'A measurement.', minimum: -1, maximum: 1e6 })
  readonly measured!: number;

  @DoubleField({ description: 'A weight.' })
  readonly weight!: number;

  @EnumField(['old', 'new'], { description: 'A state.' })
  readonly state!: string;

  readonly other!: string;
}

const UUID = '01920000-0000-7000-8000-00000000000a';

describe('a text as a value of a property', () => {
  it.each([
    ['large', '9223372036854775807', 2n ** 63n - 1n],
    ['large', '9223372036854775808', undefined],
    ['large', '07', undefined],
    ['small', '-5', -5],
    ['small', '-6', undefined],
    ['small', '7.0', undefined],
    ['small', '-0', undefined],
    ['small', ' 7', undefined],
    ['text', '', ''],
    ['text', 'longer than stored texts', 'longer than stored texts'],
    ['text', '\0', undefined],
    ['time', '2024-03-01T12:00:00+02:00', new Date('2024-03-01T10:00:00Z')],
    ['time', '2024-02-30T12:00:00Z', undefined],
    ['uuid', UUID.toUpperCase(), UUID],
    ['uuid', UUID.replaceAll('-', ''), undefined],
    ['isNew', 'true', true],
    ['isNew', 'false', false],
    ['isNew', 'yes', undefined],
    ['day', '2024-02-29', '2024-02-29'],
    ['day', '2023-02-29', undefined],
    ['price', '12.34', '12.34'],
    ['price', '12.345', undefined],
    ['price', '123.4', undefined],
    ['measured', '1.5e3', 1500],
    ['measured', '-2', undefined],
    ['measured', '1000001', undefined],
    ['measured', 'NaN', undefined],
    ['weight', '-2', -2],
    ['weight', '1e400', undefined],
    ['state', 'old', 'old'],
    ['state', 'OLD', undefined],
  ])('%s: %s is %s', (property, text, value) => {
    const kind = declarationOf(Sample, property).kind!;
    expect(kind.parse(text)).toEqual(value);
    expect(kind.constraintOf('since')).toMatch(/^since must /);
  });

  it('is not declared for a property without a decorator', () => {
    expect(declarationOf(Sample, 'other').kind).toBeUndefined();
  });
});

it('a property with JSON can be required', () => {
  class Required {
    @JsonField({ description: 'Details.' })
    readonly details!: JsonValue;
  }
  expect(validateSync(new Required())).toMatchObject([
    { property: 'details', value: undefined, constraints: { isJson: 'details must not be null' } },
  ]);
});
