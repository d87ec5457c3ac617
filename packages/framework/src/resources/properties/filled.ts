/* Types do not see the options of `@Column()`. These marks repeat them, so that the types of the derived DTOs fit their classes.
   They do not affect assignments. */

/**
 * Marks a property that the database or TypeORM fills, such as an id that the database makes, a column with `insert: false` or a
 * `@CreateDateColumn()`: `readonly createdAt!: Filled<Date>`. `NewOf`, `ReplacementOf` and `PatchOf` lack it, and creates do not take it.
 */
export type Filled<Value> = Marked<Value, { readonly filledByDatabase?: never }>;

/** Marks a property that never changes, because its column has `update: false`. `ReplacementOf` and `PatchOf` lack it. */
export type Lasting<Value> = Marked<Value, { readonly neverChanged?: never }>;

/**
 * Marks a property with `@ServiceManaged()`: `readonly status!: Managed<Status>`. `NewOf`, `ReplacementOf` and `PatchOf` lack it; the
 * service passes it to `create` and `patch`.
 */
export type Managed<Value> = Marked<Value, { readonly managedByService?: never }>;

/**
 * Marks a property with a `default`: `readonly isActive!: Defaulted<boolean>`. The `create` of a repository takes content without it.
 * Instances of `NewOf` and `ReplacementOf` always have it.
 */
export type Defaulted<Value> = Marked<Value, { readonly hasDefault?: never }>;

export type FilledNames<Entity> = NamesOf<Entity, 'filledByDatabase'>;

export type LastingNames<Entity> = NamesOf<Entity, 'neverChanged'>;

export type ManagedNames<Entity> = NamesOf<Entity, 'managedByService'>;

export type DefaultedNames<Entity> = NamesOf<Entity, 'hasDefault'>;

type Marked<Value, Mark> = Value extends null | undefined ? Value : Value & Mark;

type NamesOf<Entity, Mark extends string> = {
  [Name in keyof Entity]-?: Mark extends keyof NonNullable<Entity[Name]> ? Name : never;
}[keyof Entity];
