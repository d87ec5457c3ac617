import { hash } from 'node:crypto';
import { pino } from 'pino';
import type { DataSource, MigrationInterface } from 'typeorm';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { connect } from '../../packages/framework/src/database/connect.js';
import {
  applyMigrations,
  nameOf,
  revertMigration,
} from '../../packages/framework/src/database/migrations/migrate.js';
import { AppModule } from '../../src/app.module.js';
import { schemaOf } from '../../packages/framework/src/app/detached-app.js';
import { createDataSource } from '../support/data-source.js';
import { createTestDatabase } from '../../packages/framework/test/support/test-database.js';
import type { TestDatabase } from '../../packages/framework/test/support/test-database.js';
import { MIGRATION_HASHES } from './migration-hashes.js';

/* Databases that have applied a migration must not differ from those that apply it later. */

const waiting = { log: pino({ level: 'silent' }), signal: new AbortController().signal };

/** Everything that migrations make, a line or a definition for each, in the order of the names. */
const SCHEMA = `WITH tables AS (
    SELECT oid, relname, relkind, relacl FROM pg_class
    WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p', 'v', 'm', 'S')
      AND NOT EXISTS (SELECT FROM pg_depend WHERE objid = pg_class.oid AND deptype = 'e')
  )
  SELECT line FROM (
    SELECT 1 AS kind, format('column %s.%s %s%s%s', relname, attname, format_type(atttypid, atttypmod),
        CASE WHEN attnotnull THEN ' not null' END, ' default ' || pg_get_expr(adbin, adrelid)) AS line
      FROM pg_attribute JOIN tables ON tables.oid = attrelid LEFT JOIN pg_attrdef ON adrelid = attrelid AND adnum = attnum
      WHERE attnum > 0 AND NOT attisdropped AND relkind <> 'S'
    UNION ALL SELECT 2, format('sequence %s increment %s cache %s', relname, seqincrement, seqcache)
      FROM pg_sequence JOIN tables ON tables.oid = seqrelid
    UNION ALL SELECT 3, format('constraint %s.%s %s', relname, conname, pg_get_constraintdef(pg_constraint.oid))
      FROM pg_constraint JOIN tables ON tables.oid = conrelid WHERE contype <> 'n'
    UNION ALL SELECT 4, pg_get_indexdef(indexrelid) FROM pg_index JOIN tables ON tables.oid = indrelid
    UNION ALL SELECT 5, pg_get_triggerdef(pg_trigger.oid) FROM pg_trigger JOIN tables ON tables.oid = tgrelid
      WHERE NOT tgisinternal
    UNION ALL SELECT 6, pg_get_functiondef(oid) FROM pg_proc
      WHERE pronamespace = 'public'::regnamespace
        AND NOT EXISTS (SELECT FROM pg_depend WHERE objid = pg_proc.oid AND deptype = 'e')
    UNION ALL SELECT 7, format('grant %s on function %s to %s', privilege_type, pg_proc.oid::regprocedure,
        CASE grantee WHEN 0 THEN 'public' ELSE pg_get_userbyid(grantee) END)
      FROM pg_proc, aclexplode(coalesce(proacl, acldefault('f', proowner)))
      WHERE pronamespace = 'public'::regnamespace AND grantee <> proowner
        AND NOT EXISTS (SELECT FROM pg_depend WHERE objid = pg_proc.oid AND deptype = 'e')
    UNION ALL SELECT 8, format('grant %s on %s to %s', string_agg(privilege_type, ', ' ORDER BY privilege_type), relname,
        pg_get_userbyid(grantee))
      FROM tables, aclexplode(relacl) WHERE grantee <> grantor GROUP BY relname, grantee
  ) AS lines ORDER BY kind, line COLLATE "C"`;

const ROLE = 'frozen_migrations_service';

let database: TestDatabase;
let dataSource: DataSource;

beforeEach(async () => {
  database = await createTestDatabase();
  dataSource = createDataSource(database.url, { poolMax: 3 });
  await connect(dataSource, waiting);
});

afterEach(async () => {
  vi.restoreAllMocks();
  await dataSource.destroy();
  await database.drop();
});

async function schema(): Promise<string> {
  const rows = await database.query(SCHEMA);
  return rows.map(({ line }) => `${String(line)}\n`).join('');
}

/** Writes down the statements of each migration, in both directions. */
function recordStatements(): ReadonlyMap<string, string[]> {
  const statements = new Map<string, string[]>();
  for (const migration of dataSource.migrations) {
    const prototype = Object.getPrototypeOf(migration) as MigrationInterface;
    const sent: string[] = [];
    statements.set(nameOf(migration), sent);
    for (const direction of ['up', 'down'] as const) {
      const run = prototype[direction].bind(migration);
      vi.spyOn(prototype, direction).mockImplementation(async (session) => {
        sent.push(`-- ${direction}`);
        const query = session.query.bind(session);
        const spy = vi.spyOn(session, 'query').mockImplementation((text, ...values) => {
          sent.push(`${text};`);
          return query(text, ...values);
        });
        await run(session);
        spy.mockRestore();
      });
    }
  }
  return statements;
}

it('each migration sends the statements that it was released with', async () => {
  const statements = recordStatements();
  await applyMigrations(dataSource, waiting);
  for (const _ of dataSource.migrations) await revertMigration(dataSource, waiting);
  const hashes = [...statements].map(([name, sent]) => [
    name,
    hash('sha256', `${sent.join('\n')}\n`),
  ]);
  expect(
    Object.fromEntries(hashes),
    'a released migration never changes: take the change back, and write another migration. Put the hash of a new one into migration-hashes.ts.',
  ).toEqual(MIGRATION_HASHES);
});

it('all migrations together make the schema that is written down', async () => {
  await database.query(
    `DO $$ BEGIN CREATE ROLE ${ROLE}; EXCEPTION WHEN duplicate_object OR unique_violation THEN END $$`,
  );
  const role = { name: ROLE, password: undefined };
  await applyMigrations(dataSource, waiting, { role, schema: await schemaOf(AppModule) });
  await expect(await schema()).toMatchFileSnapshot('../migrations/schema.sql');
});

it('a migration that is taken back leaves the schema as it was', async () => {
  await applyMigrations(dataSource, waiting);
  const before = await schema();
  for (const _ of dataSource.migrations) await revertMigration(dataSource, waiting);
  expect(await schema()).not.toMatch(/plants|changes|access_tokens/);
  await applyMigrations(dataSource, waiting);
  expect(await schema()).toBe(before);
});
