import type { DataSource, QueryRunner } from 'typeorm';

/** Dropped with a column, or preventing its drop. */
interface Dependent {
  /** Such as `the index "tools_name_idx" of "tools"`. */
  readonly what: string;
  /** Without quotes. */
  readonly name: string;
  readonly blocks: boolean;
}

interface TablePart {
  readonly kind: 'index' | 'constraint';
  readonly name: string;
  /** Of an index. */
  readonly definition: string | null;
}

interface NarrowSequence {
  /** Without quotes. */
  readonly column: string;
  /** As an identifier of SQL. */
  readonly name: string;
  readonly type: string;
}

/**
 * @param table as an identifier of SQL, like `column`
 * @see https://www.postgresql.org/docs/current/catalog-pg-depend.html
 */
export function dependentsOf(
  dataSource: DataSource,
  table: string,
  column: string,
): Promise<readonly Dependent[]> {
  return dataSource.query(
    `SELECT 'the ' || CASE
         WHEN conrelid = a.attrelid THEN format('constraint "%s" of %s', conname, $1::text)
         WHEN type = 'index' THEN format('index "%s" of %s', relname, $1)
         WHEN other.attname IS NOT NULL THEN format('generated column "%s" of %s', other.attname, $1)
         ELSE type || ' ' || identity
       END AS what, coalesce(other.attname, relname, conname, name) AS name, bool_and(deptype = 'n' OR conindid IS NOT DISTINCT FROM objid) AS blocks
     FROM pg_attribute a
     JOIN pg_depend ON refclassid = 'pg_class'::regclass AND refobjid = attrelid AND refobjsubid = attnum AND deptype IN ('a', 'n')
     LEFT JOIN pg_rewrite r ON classid = 'pg_rewrite'::regclass AND r.oid = objid AND rulename = '_RETURN'
     LEFT JOIN pg_constraint c ON classid = 'pg_constraint'::regclass AND c.oid = objid
       OR classid = 'pg_class'::regclass AND conindid = objid AND contype <> 'f'
     LEFT JOIN pg_attrdef d ON classid = 'pg_attrdef'::regclass AND d.oid = objid
     LEFT JOIN pg_class i ON classid = 'pg_class'::regclass AND i.oid = objid
     LEFT JOIN pg_attribute other ON other.attrelid = a.attrelid AND other.attnum = CASE WHEN objid = a.attrelid THEN objsubid ELSE adnum END
     CROSS JOIN pg_identify_object(
       CASE WHEN ev_class IS NULL THEN classid ELSE 'pg_class'::regclass END, coalesce(ev_class, objid), objsubid
     )
     WHERE a.attrelid = to_regclass($1) AND a.attname = $2 AND adnum IS DISTINCT FROM a.attnum AND contype IS DISTINCT FROM 'n'
     GROUP BY 1, 2`,
    [table, nameIn(column)],
  );
}

/** Besides type, default and identity. */
export async function propertiesOf(
  dataSource: DataSource,
  table: string,
  column: string,
): Promise<readonly string[]> {
  const rows: readonly { readonly what: string }[] = await dataSource.query(
    `SELECT what FROM pg_attribute JOIN pg_type t ON t.oid = atttypid
     CROSS JOIN LATERAL (VALUES
       ('comment', col_description(attrelid, attnum) IS NOT NULL),
       ('collation', attcollation <> typcollation),
       ('privileges', attacl IS NOT NULL),
       ('statistics target', attstattarget >= 0),
       ('options', attoptions IS NOT NULL)
     ) AS properties (what, has)
     WHERE attrelid = to_regclass($1) AND attname = $2 AND has`,
    [table, nameIn(column)],
  );
  return rows.map(({ what }) => what);
}

/** TypeORM itself reads no index on expressions only, and no constraint without a column. */
export function partsOf(queryRunner: QueryRunner, table: string): Promise<readonly TablePart[]> {
  return queryRunner.query(
    `SELECT 'constraint' AS kind, conname AS name, NULL AS definition FROM pg_constraint
     WHERE conrelid = to_regclass($1) AND contype IN ('c', 'f', 'u', 'x')
     UNION ALL
     SELECT 'index', relname, pg_get_indexdef(indexrelid) FROM pg_index JOIN pg_class ON oid = indexrelid
     WHERE indrelid = to_regclass($1) AND NOT EXISTS (SELECT FROM pg_constraint WHERE conindid = indexrelid AND conrelid = indrelid)
     ORDER BY kind, name`,
    [table],
  );
}

/** Sequences of `serial` columns that are not `bigint`: PostgreSQL changes such a column, unlike an identity, without its sequence. */
export function narrowSequencesOf(
  queryRunner: QueryRunner,
  table: string,
): Promise<readonly NarrowSequence[]> {
  return queryRunner.query(
    `SELECT attname AS column, seqrelid::regclass AS name, seqtypid::regtype AS type
     FROM pg_sequence JOIN pg_depend ON classid = 'pg_class'::regclass AND objid = seqrelid AND deptype = 'a'
     JOIN pg_attribute ON attrelid = refobjid AND attnum = refobjsubid
     WHERE attrelid = to_regclass($1) AND seqtypid <> 'bigint'::regtype`,
    [table],
  );
}

function nameIn(identifier: string): string {
  return identifier.slice(1, -1);
}
