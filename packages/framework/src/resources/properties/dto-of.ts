import type { Type } from '@nestjs/common';
import { ApiProperty, PickType } from '@nestjs/swagger';
import type { ApiPropertyOptions } from '@nestjs/swagger';
import { ValidateIf } from 'class-validator';
import { getMetadataArgsStorage } from 'typeorm';
import type { ColumnMetadataArgs } from 'typeorm/metadata-args/ColumnMetadataArgs.js';
import { ExactDigits, validatedPropertiesOf } from '../../http/body/dto.pipe.js';
import type { FilledNames, LastingNames, ManagedNames } from './filled.js';
import { declarationOf } from './kind.js';
import type { Keyed } from './key-type.js';
import { IfPresent } from './property.js';

const ENTITY = Symbol('entity');

const ID_OF_PATH = { description: 'If present, the id in the path.' } as const;

type Nullable<Entity> = {
  [Name in keyof Entity]-?: null extends Entity[Name] ? Name : never;
}[keyof Entity];

type Unchangeable<Entity> =
  'id' | FilledNames<Entity> | LastingNames<Entity> | ManagedNames<Entity>;

/** The properties of an entity as in JSON: a null of the database is absent. */
export type Content<Entity> = Omit<Entity, Nullable<Entity>> & {
  [Name in Nullable<Entity>]?: NonNullable<Entity[Name]>;
};

/**
 * A class with properties of an entity, by default with all, and their validations and schemas. A null of the database is absent in
 * JSON, so a nullable property must be optional.
 *
 * @example export class StoredToolDto extends DtoOf(Tool) {}
 */
export function DtoOf<Entity extends object, Name extends keyof Entity = keyof Entity>(
  entity: Type<Entity>,
  names: readonly Name[] = namesOf(entity) as readonly Name[],
): Type<Content<Pick<Entity, Name>>> {
  const Dto = PickType(entity, names);
  Reflect.defineMetadata(ENTITY, entity, Dto);
  keepDigits(entity, Dto, names);
  return Dto as Type<Content<Pick<Entity, Name>>>;
}

/**
 * The class of the body of a create: the properties of an entity without those that the database fills or the service
 * manages. One with a default is optional.
 *
 * @example export class NewToolDto extends NewOf(Tool) {}
 */
export function NewOf<Entity extends Keyed>(
  entity: Type<Entity>,
): Type<Omit<Content<Entity>, FilledNames<Entity> | ManagedNames<Entity>>> {
  const names = namesOf(entity, (column) => isGiven(column) && !isManaged(entity, column));
  return withDefaults(entity, DtoOf(entity, names));
}

/**
 * The class of the body of a PUT: the properties of an entity that can change, and the id, which can be absent. One with a default is
 * optional.
 *
 * @example export class ToolReplacementDto extends ReplacementOf(Tool) {}
 */
export function ReplacementOf<Entity extends Keyed>(
  entity: Type<Entity>,
): Type<
  Omit<Content<Entity>, Unchangeable<Entity>> & {
    readonly id?: Entity['id'];
  }
> {
  const Replacement = DtoOf(
    entity,
    namesOf(entity, (column) => isChangeable(entity, column)),
  );
  makeOptional(Replacement, 'id', ID_OF_PATH);
  return withDefaults(entity, Replacement);
}

/**
 * The class of a JSON Merge Patch (RFC 7396): the properties of an entity that can change, all of them optional. Null removes
 * a value whose column is nullable.
 *
 * @example
 * @BodyTypes(...PATCH_TYPES)
 * export class ToolPatchDto extends PatchOf(Tool) {}
 */
export function PatchOf<Entity extends Keyed>(
  entity: Type<Entity>,
): Type<
  Partial<Omit<Entity, Unchangeable<Entity>>> & {
    readonly id?: Entity['id'];
  }
> {
  const columns = propertyColumnsOf(entity).filter((column) => isChangeable(entity, column));
  const names = columns.map(({ propertyName }) => propertyName as keyof Entity);
  const Patch = PickType(entity, names);
  keepDigits(entity, Patch, names);
  for (const { propertyName, options } of columns) {
    makeOptional(Patch, propertyName, {
      ...(propertyName === 'id' && ID_OF_PATH),
      ...(options.nullable === true && { nullable: true }),
    });
    if (options.nullable === true) {
      ValidateIf((_, value) => value !== null)(Patch.prototype as object, propertyName);
    }
  }
  return Patch;
}

/**
 * Whether removed rows of the entity of a DTO stay in its table, by `@DeleteDateColumn()`.
 *
 * @returns `undefined` for a class that {@link DtoOf} has not made
 */
export function keepsRemovedRows(dto: Type): boolean | undefined {
  const entity = Reflect.getMetadata(ENTITY, dto) as Type | undefined;
  return entity && columnsOf(entity).some(({ mode }) => mode === 'deleteDate');
}

/** Instances of the class have the default of each property that is absent. */
function withDefaults<Dto extends object>(entity: Type, dto: Type<Dto>): Type<Dto> {
  const defaults = new Map<string, unknown>();
  for (const property of validatedPropertiesOf(dto)) {
    const { default: value } = declarationOf(entity, property);
    if (value === undefined) continue;
    defaults.set(property, value);
    makeOptional(dto, property, { default: value });
  }
  if (defaults.size === 0) return dto;
  class WithDefaults extends (dto as Type<object>) {
    constructor() {
      super();
      for (const [property, value] of defaults) {
        Object.assign(this, { [property]: structuredClone(value) });
      }
    }
  }
  return WithDefaults as Type<Dto>;
}

/** Values of a column `jsonb` are stored with all digits. */
function keepDigits<Entity>(
  entity: Type<Entity>,
  dto: Type,
  names: readonly (keyof Entity)[],
): void {
  for (const { propertyName, options } of propertyColumnsOf(entity)) {
    if (options.type !== 'jsonb' || !names.includes(propertyName as keyof Entity)) continue;
    ExactDigits()(dto.prototype as object, propertyName);
  }
}

function makeOptional(
  dto: Type,
  property: string,
  schema: Pick<ApiPropertyOptions, 'description' | 'nullable' | 'default'>,
): void {
  ApiProperty({ ...schema, required: false })(dto.prototype as object, property);
  IfPresent()(dto.prototype as object, property);
}

function namesOf<Entity>(
  entity: Type<Entity>,
  isWanted: (column: ColumnMetadataArgs) => boolean = () => true,
): readonly (keyof Entity)[] {
  const columns = propertyColumnsOf(entity).filter(isWanted);
  return columns.map(({ propertyName }) => propertyName as keyof Entity);
}

/**
 * The columns that are public, because they are validated. Read from the arguments of `@Column()` and its relatives, because
 * TypeORM makes the metadata of an entity only when it connects.
 */
export function propertyColumnsOf(entity: Type): readonly ColumnMetadataArgs[] {
  const validated = validatedPropertiesOf(entity);
  return columnsOf(entity).filter(({ propertyName }) => validated.has(propertyName));
}

function columnsOf(entity: Type): readonly ColumnMetadataArgs[] {
  return getMetadataArgsStorage().columns.filter(
    ({ target }) => target === entity || entity.prototype instanceof (target as Function),
  );
}

export function keyColumnOf(entity: Type): ColumnMetadataArgs | undefined {
  return propertyColumnsOf(entity).find(
    ({ propertyName, options }) => propertyName === 'id' && options.primary === true,
  );
}

export function isGenerated({ target, propertyName, options }: ColumnMetadataArgs): boolean {
  const { primary = false, default: otherwise } = options;
  const generated = getMetadataArgsStorage().findGenerated(target, propertyName);
  return generated !== undefined || (primary && otherwise !== undefined);
}

function isGiven(column: ColumnMetadataArgs): boolean {
  return column.mode === 'regular' && column.options.insert !== false && !isGenerated(column);
}

/** A key never changes, but a body may have it. */
function isChangeable(entity: Type, column: ColumnMetadataArgs): boolean {
  const { options } = column;
  const isLasting = options.update === false || isManaged(entity, column);
  return options.primary === true || (isGiven(column) && !isLasting);
}

function isManaged(entity: Type, { propertyName }: ColumnMetadataArgs): boolean {
  return declarationOf(entity, propertyName).isManaged === true;
}
