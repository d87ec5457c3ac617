/** An index that an entity declares, but not to TypeORM, which knows no expressions. */
export interface DeclaredIndex {
  readonly entity: Function;
  /** The parameter `sort` of lists that need it. */
  readonly order: string;
  /** As an identifier of SQL, like `name`. */
  readonly table: string;
  readonly name: string;
  /** Of the database, without quotes. */
  readonly columns: readonly string[];
  /** In SQL, such as `left("name", 100) COLLATE "C", "id"`. */
  readonly keys: string;
  /**
   * The names of the indexes of the database that have these keys.
   *
   * @param columns the names that the columns have in the database, by default the declared ones
   */
  readonly find: (columns?: readonly string[]) => Promise<readonly string[]>;
}
