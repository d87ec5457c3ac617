import { DataSource } from 'typeorm';
import type { QueryRunner } from 'typeorm';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { createTestDatabase } from '../../framework/test/support/test-database.js';
import type { TestDatabase } from '../../framework/test/support/test-database.js';
import {
  addIncarnations,
  createChanges,
  createHistory,
  dropChanges,
  upgradeHistory,
} from '../src/migrations.js';

const TABLES = { table: 'tools', changes: 'tool_changes', namespace: 'tool_library' };

/** Functions, triggers, sequences and tables, a line or a definition for each. */
const OBJECTS = `SELECT pg_get_functiondef(oid) AS line FROM pg_proc WHERE pronamespace = 'public'::regnamespace
  UNION ALL SELECT format('%s %s', proname, proacl) FROM pg_proc WHERE pronamespace = 'public'::regnamespace
  UNION ALL SELECT pg_get_triggerdef(oid) FROM pg_trigger
  UNION ALL SELECT format('%s %s %s', relkind, relpersistence, relname) FROM pg_class WHERE relnamespace = 'public'::regnamespace
  UNION ALL SELECT format('%s %s %s', seqrelid::regclass, seqmin, seqstart) FROM pg_sequence
  ORDER BY line`;

const databases: TestDatabase[] = [];
const dataSources: DataSource[] = [];

async function objectsAfter(
  migrate: (queryRunner: QueryRunner) => Promise<void>,
): Promise<readonly string[]> {
  const database = await createTestDatabase();
  databases.push(database);
  const dataSource = await new DataSource({ type: 'postgres', url: database.url }).initialize();
  dataSources.push(dataSource);
  const queryRunner = dataSource.createQueryRunner();
  await queryRunner.query('CREATE TABLE tools (id bigint PRIMARY KEY, name text)');
  await queryRunner.query(
    `CREATE TABLE tool_changes (position bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, time timestamptz NOT NULL DEFAULT now(),
      kind text NOT NULL, principal text NOT NULL, request_id text NOT NULL, id bigint NOT NULL, name text)`,
  );
  await migrate(queryRunner);
  await queryRunner.release();
  const rows = await database.query(OBJECTS);
  return rows.map(({ line }) => String(line).replaceAll(/\s+/g, ' '));
}

beforeEach(() => {
  databases.length = 0;
  dataSources.length = 0;
});

afterEach(async () => {
  await Promise.all(dataSources.map((dataSource) => dataSource.destroy()));
  await Promise.all(databases.map((database) => database.drop()));
});

it('a new table of records gets what earlier migrations leave, at once', async () => {
  const current = await objectsAfter((queryRunner) => createChanges(queryRunner, TABLES));
  const upgraded = await objectsAfter(async (queryRunner) => {
    await createHistory(queryRunner, TABLES.changes, TABLES.namespace);
    await upgradeHistory(queryRunner, TABLES);
    await addIncarnations(queryRunner, TABLES);
  });
  // Replicas of earlier releases call it.
  expect(upgraded.filter((line) => !line.includes('record_tool_changes'))).toEqual(current);
});

it('is taken back whole', async () => {
  const before = await objectsAfter(() => Promise.resolve());
  const after = await objectsAfter(async (queryRunner) => {
    await createChanges(queryRunner, TABLES);
    await dropChanges(queryRunner, TABLES);
  });
  expect(after).toEqual(before);
});
