import { escapeLiteral } from 'pg';

interface Place {
  /** Put in front of the path. */
  readonly schema?: string | undefined;
  readonly tables?: readonly string[];
}

/**
 * An expression for the search path of a session without the schemas, other than the first, that have tables of these
 * names: they belong to another instance, and would be found in place of tables that this one lacks. Other schemas
 * stay, because extensions can be in them. Null if the session has this path.
 */
export function pathFor({ schema: given, tables = [] }: Place): string {
  const first = given === undefined ? 'current_schema()' : escapeLiteral(given);
  const isOfOthers = `EXISTS (
        SELECT FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace
        WHERE nspname = schema AND relname = ANY (ARRAY[${tables.map(escapeLiteral).join()}]::text[])
      )`;
  const places = 'unnest(current_schemas(false)) WITH ORDINALITY AS path (schema, place)';
  if (given !== undefined) {
    return `(SELECT nullif(
        concat_ws(', ', quote_ident(${first}), string_agg(quote_ident(schema), ', ' ORDER BY place)),
        current_setting('search_path')
      ) FROM ${places} WHERE schema <> ${first} AND NOT ${isOfOthers})`;
  }
  return `(SELECT CASE WHEN NOT bool_and(is_kept)
      THEN string_agg(quote_ident(schema), ', ' ORDER BY place) FILTER (WHERE is_kept) END
    FROM (
      SELECT schema, place, schema = ${first} OR NOT ${isOfOthers} AS is_kept
      FROM ${places}
    ) AS schemas)`;
}
