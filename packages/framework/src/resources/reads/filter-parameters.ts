import { applyDecorators } from '@nestjs/common';
import type { Type } from '@nestjs/common';
import { Transform } from 'class-transformer';
import { BOOLEAN } from '../properties/kinds/boolean.js';
import { declarationOf } from '../properties/kind.js';
import type { Kind } from '../properties/kind.js';
import { propertyColumnsOf } from '../properties/dto-of.js';
import { Field, Satisfies } from '../properties/property.js';
import { IsText, TEXT_SCHEMA } from '../properties/text.js';
import type { ColumnFilter, ShapeValues } from './column-filter.js';
import { AreFiltersShort } from './page-parameters.js';
import { SORTED_CHARACTERS } from './sort.js';

export type ColumnFilters<Entity> = Readonly<Record<string, ColumnFilter<keyof Entity & string>>>;

export type FilterParameters<Entity, Declared> = {
  readonly [Name in keyof Declared]?: Declared[Name] extends ColumnFilter<
    infer Property extends keyof Entity & string,
    infer Shape
  >
    ? ShapeValues<NonNullable<Entity[Property]>>[Shape]
    : never;
};

/** In one parameter. */
export const MAX_VALUES = 100;

/** Shorter texts have no trigram. */
const PART = { minLength: 3, maxLength: 200 } as const;

const PREFIX = { minLength: 1, maxLength: SORTED_CHARACTERS } as const;

/** @throws TypeError if the entity has no such property */
export function FilterParameter(entity: Type, filter: ColumnFilter): PropertyDecorator {
  const { shape, meaning } = filter;
  const property = propertyOf(entity, filter);
  const description = `Only items whose \`${property}\` ${meaning}.`;
  if (shape === 'part' || shape === 'prefix') {
    const lengths = shape === 'part' ? PART : PREFIX;
    return applyDecorators(
      Field({ ...TEXT_SCHEMA, ...lengths, description, isOptional: true }, IsText(lengths)),
      AreFiltersShort(),
    );
  }
  if (shape === 'flag') return parameterOf(BOOLEAN, description);
  const { kind } = declarationOf(entity, property);
  if (kind === undefined) {
    throw new TypeError(
      `${entity.name}.${property} has no decorator of a property that a parameter can be compared with, such as @TextField()`,
    );
  }
  return shape === 'value'
    ? parameterOf(kind, description)
    : listOf(kind, description, shape === 'range' ? [2, 2] : [1, MAX_VALUES]);
}

/** The property of a filter, which may have the name of its column. */
export function propertyOf(entity: Type, { property, isByColumn = false }: ColumnFilter): string {
  const name = property.startsWith('"') ? property.slice(1, -1) : property;
  const columns = isByColumn ? propertyColumnsOf(entity) : [];
  const column = columns.find(
    ({ options, propertyName }) => (options.name ?? propertyName) === name,
  );
  return column?.propertyName ?? property;
}

/** Converts the text of a parameter; `null` for a text that is no value, which a value never is. */
function parameterOf(kind: Kind, description: string): PropertyDecorator {
  return applyDecorators(
    Field({ ...kind.schema, description, isOptional: true }),
    Transform(({ value }: { value: unknown }) =>
      typeof value === 'string' ? (kind.parse(value) ?? null) : null,
    ),
    Satisfies('isValue', (value) => value !== null, kind.constraintOf('$property')),
    AreFiltersShort(),
  );
}

function listOf(
  kind: Kind,
  description: string,
  [min, max]: readonly [min: number, max: number],
): PropertyDecorator {
  const { schema } = kind;
  // Any other text can have a comma.
  const isSplit = schema.pattern !== TEXT_SCHEMA.pattern && schema.enum?.some(hasComma) !== true;
  const form = isSplit
    ? 'separated by commas, or in a parameter for each of them'
    : 'in a parameter for each of them';
  const count = min === max ? `${min} values` : `at most ${max} values`;
  return applyDecorators(
    Field({
      type: 'array',
      style: 'form',
      explode: !isSplit,
      items: schema,
      minItems: min,
      maxItems: max,
      description: `${description} Given ${form}.`,
      isOptional: true,
    } as never),
    Transform(({ obj, key }: { obj: Record<string, unknown>; key: string }) => {
      const given = obj[key];
      if (given === undefined) return given;
      const texts = [given].flat().map(String);
      const parts = isSplit ? texts.flatMap((text) => text.split(',', MAX_VALUES + 1)) : texts;
      return parts.slice(0, MAX_VALUES + 1).map((text) => kind.parse(text) ?? null);
    }),
    Satisfies(
      'areValues',
      (values) =>
        Array.isArray(values) &&
        values.length >= min &&
        values.length <= max &&
        !values.includes(null),
      `$property must be ${count}, ${form}; ${kind.constraintOf('each of them')}`,
    ),
    AreFiltersShort(),
  );
}

function hasComma(text: string): boolean {
  return text.includes(',');
}
