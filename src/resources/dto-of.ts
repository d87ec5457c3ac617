import type { Type } from '@nestjs/common';
import { ApiProperty, PickType } from '@nestjs/swagger';
import { ValidateIf } from 'class-validator';
import { getMetadataArgsStorage } from 'typeorm';
import type { Identified } from './entity-columns.js';
import { IfPresent } from './member.js';

const ID_OF_PATH = { description: 'If present, the id in the path.' } as const;

/** The property names of an entity whose columns can be null. */
type Nullable<Entity> = {
  [Name in keyof Entity]-?: null extends Entity[Name] ? Name : never;
}[keyof Entity];

/** The members of an entity in JSON: what is null in the database is absent. */
export type Content<Entity> = Omit<Entity, Nullable<Entity>> & {
  [Name in Nullable<Entity>]?: NonNullable<Entity[Name]>;
};

/**
 * A class with members of an entity, by default with all, with their rules and schemas: `class StoredGardenDto extends
 * DtoOf(Garden) {}`. A member that is null in the database is absent in JSON, so it must be optional.
 */
export function DtoOf<Entity extends object, Name extends keyof Entity = keyof Entity>(
  entity: Type<Entity>,
  names: readonly Name[] = columnNames(entity) as Name[],
): Type<Content<Pick<Entity, Name>>> {
  return PickType(entity, names) as Type<Content<Pick<Entity, Name>>>;
}

/** A class with all members of an entity, of which the id can be absent: the body of a PUT. */
export function ReplacementOf<Entity extends Identified>(
  entity: Type<Entity>,
): Type<Omit<Content<Entity>, 'id'> & { readonly id?: bigint }> {
  const Replacement = DtoOf(entity) as Type<Omit<Content<Entity>, 'id'> & { readonly id?: bigint }>;
  makeOptional(Replacement, 'id', ID_OF_PATH);
  return Replacement;
}

/**
 * A class with all members of an entity, each of which can be absent: a JSON Merge Patch (RFC 7396). Null removes a member
 * that can be null in the database.
 */
export function PatchOf<Entity extends Identified>(entity: Type<Entity>): Type<Partial<Entity>> {
  const Patch = PickType(entity, columnNames(entity) as (keyof Entity)[]);
  for (const { propertyName, options } of columnsOf(entity)) {
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

function makeOptional(
  dto: Type,
  member: string,
  schema: { readonly description?: string; readonly nullable?: boolean },
): void {
  ApiProperty({ ...schema, required: false })(dto.prototype as object, member);
  IfPresent()(dto.prototype as object, member);
}

function columnNames(entity: Type): string[] {
  return columnsOf(entity).map(({ propertyName }) => propertyName);
}

/** What `@Column()` and the like have declared. TypeORM's metadata of the entity exists only when it is connected. */
function columnsOf(entity: Type) {
  const classes = new Set<unknown>([entity, ...ancestorsOf(entity)]);
  return getMetadataArgsStorage().columns.filter(({ target }) => classes.has(target));
}

function ancestorsOf(entity: Type): Type[] {
  const parent = Object.getPrototypeOf(entity) as Type | null;
  return parent === null || parent === Function.prototype ? [] : [parent, ...ancestorsOf(parent)];
}
