import { applyDecorators } from '@nestjs/common';
import type { Type } from '@nestjs/common';
import { ApiProperty, ApiSchema } from '@nestjs/swagger';
import { Transform } from 'class-transformer';
import type { Scope } from '../../auth/principal.js';
import { Field, Satisfies } from '../properties/property.js';

const EXPANSIONS = Symbol('expansions');

/** A related row that a list puts into each item, if the parameter `expand` has its name. */
export interface Expansion<Property extends string = string> {
  /** The property with the id of the related row. */
  readonly property: Property;
  /** The class of the related row: `dto` of its repository. */
  readonly dto: () => Type;
  /** Of which a client needs one, as to look up the related row. */
  readonly scopes: readonly Scope[];
}

/** By the name that `expand` and the items have. */
export type Expansions<Entity = Readonly<Record<string, unknown>>> = Readonly<
  Record<string, Expansion<keyof Entity & string>>
>;

/**
 * Declares a related row for {@link Expansions}.
 *
 * @example
 * export const LOAN_EXPANSIONS = { tool: related('toolId', () => StoredToolDto, 'tools:read') };
 *
 * class ListLoansDto extends ListOf(Loan, {}, LOAN_EXPANSIONS) {}
 *
 * @param property has the id of the related row
 * @param dto the `dto` of the repository of the related rows
 * @param scope which a client needs to read them
 * @param others each of them is enough, too
 */
export function related<Property extends string>(
  property: Property,
  dto: () => Type,
  scope: Scope,
  ...others: readonly Scope[]
): Expansion<Property> {
  return { property, dto, scopes: [scope, ...others] };
}

/** Declares the parameter `expand` of the class of a list. */
export function expandable(query: Type, expansions: Expansions): void {
  const names = Object.keys(expansions);
  if (names.length === 0) return;
  Reflect.defineMetadata(EXPANSIONS, expansions, query);
  const scopes = Object.entries(expansions).map(
    ([name, each]) => `\`${name}\` (scope ${scopesOf(each)})`,
  );
  applyDecorators(
    Field({
      type: 'array',
      style: 'form',
      explode: false,
      items: { type: 'string', enum: names },
      minItems: 1,
      description: `The related items that each item has, separated by commas, or in a parameter for each of them: ${scopes.join(', ')}.`,
      isOptional: true,
    } as never),
    // The parser of the query makes an array of a repeated parameter.
    Transform(({ value }: { value: string | readonly string[] | undefined }) =>
      value === undefined ? value : [...new Set(String(value).split(','))],
    ),
    Satisfies(
      'areExpandable',
      (given) => Array.isArray(given) && given.every((name) => names.includes(name)),
      `expand must be ${names.join(', ')}${names.length > 1 ? ', or several of them, separated by commas' : ''}`,
    ),
  )(query.prototype as object, 'expand');
}

/** The class of an item of a list in the OpenAPI document. */
export function listedDto(dto: Type, name: string, query: Type | undefined): Type {
  const expansions = query && (Reflect.getMetadata(EXPANSIONS, query) as Expansions | undefined);
  if (expansions === undefined) return dto;
  @ApiSchema({
    name,
    description: 'An item of a list, with the related items that `expand` names.',
  })
  class ListedDto extends (dto as Type<object>) {}
  for (const [property, each] of Object.entries(expansions)) {
    ApiProperty({
      type: () => each.dto(),
      required: false,
      description: `With \`expand=${property}\`, which needs the scope ${scopesOf(each)}: the item with the id in \`${each.property}\`, unless there is none, or the client must not see it.`,
    })(ListedDto.prototype, property);
  }
  return ListedDto;
}

function scopesOf({ scopes }: Expansion): string {
  return scopes.map((scope) => `\`${scope}\``).join(' or ');
}
