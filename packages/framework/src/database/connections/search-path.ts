import { escapeLiteral } from 'pg';

interface Place {
  /** The first of the path. `undefined`: as the session has it. */
  readonly schema?: string | undefined;
  readonly tables?: readonly string[];
}

/**
 * An expression for the search path of a session without the schemas, other than the first, that have tables of these
 * names: they belong to another instance, and would be found in place of tables that this one lacks. Other schemas
 * stay, because extensions can be in them. Null if the path of the session leads to these schemas already.
 */
export function pathFor({ schema, tables = [] }: Place): string {
  const first = schema === undefined ? undefined : `${escapeLiteral(schema)}::name`;
  const schemas =
    first === undefined
      ? 'current_schemas(false)'
      : `array_prepend(${first}, array_remove(current_schemas(false), ${first}))`;
  return `(SELECT string_agg(quote_ident(schema), ', ' ORDER BY place)
    FROM unnest(${schemas}) WITH ORDINALITY AS path (schema, place)
    WHERE place = 1 OR NOT EXISTS (
      SELECT FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace
      WHERE nspname = schema AND relname = ANY (ARRAY[${tables.map(escapeLiteral).join()}]::text[])
    )
    HAVING array_agg(schema ORDER BY place) IS DISTINCT FROM current_schemas(false))`;
}
