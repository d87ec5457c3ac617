/** An index that an entity declares, but not to TypeORM, which knows no expressions. */
export interface DeclaredIndex {
  readonly entity: Function;
  readonly property: string;
  /** As an identifier of SQL, like `name`. */
  readonly table: string;
  readonly name: string;
  /** Of the database, without quotes. */
  readonly column: string;
  /** In SQL, such as `left("name", 100) COLLATE "C", "id"`. */
  readonly keys: string;
  /**
   * The names of the indexes of the database that have these keys.
   *
   * @param column the name that the column has in the database, by default the declared one
   */
  readonly find: (column?: string) => Promise<readonly string[]>;
}
