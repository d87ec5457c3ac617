/* Types do not see the options of `@Column()`. These say in the type of a property what the options mean for bodies of requests, so that
   the types of the DTOs have what the DTOs have. Values are assigned as if the types were not there. */

/**
 * The type of a property that the database or TypeORM fills: an id that the database makes, a column with `insert: false`, a
 * `@CreateDateColumn()`. `NewOf`, `ReplacementOf` and `PatchOf` lack it, and creates do not take it:
 * `readonly createdAt!: Filled<Date>`.
 */
export type Filled<Value> = Marked<Value, { readonly filledByDatabase?: never }>;

/** The type of a property that never changes, because its column has `update: false`: `ReplacementOf` and `PatchOf` lack it. */
export type Lasting<Value> = Marked<Value, { readonly neverChanged?: never }>;

/** The names of the properties of an entity with the type {@link Filled}. */
export type FilledNames<Entity> = NamesOf<Entity, 'filledByDatabase'>;

/** The names of the properties of an entity with the type {@link Lasting}. */
export type LastingNames<Entity> = NamesOf<Entity, 'neverChanged'>;

type Marked<Value, Mark> = Value extends null | undefined ? Value : Value & Mark;

type NamesOf<Entity, Mark extends string> = {
  [Name in keyof Entity]-?: Mark extends keyof NonNullable<Entity[Name]> ? Name : never;
}[keyof Entity];
