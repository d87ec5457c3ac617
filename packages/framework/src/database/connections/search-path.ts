import { escapeLiteral } from 'pg';

/**
 * An expression for the search path of a session without the schemas, other than the first, that have tables of these
 * names: they belong to another instance, and would be found in place of tables that this one lacks. Other schemas
 * stay, because extensions can be in them. Null if no schema is to be left out.
 */
export function narrowedPath(tables: readonly string[]): string {
  return `(SELECT CASE WHEN NOT bool_and(is_kept)
      THEN string_agg(quote_ident(schema), ', ' ORDER BY place) FILTER (WHERE is_kept) END
    FROM (
      SELECT schema, place, schema = current_schema() OR NOT EXISTS (
        SELECT FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace
        WHERE nspname = schema AND relname = ANY (ARRAY[${tables.map(escapeLiteral).join()}]::text[])
      ) AS is_kept
      FROM unnest(current_schemas(false)) WITH ORDINALITY AS path (schema, place)
    ) AS schemas)`;
}
