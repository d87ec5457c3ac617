import { Client } from 'pg';
import { Column, Entity, PrimaryColumn } from 'typeorm';
import { expect, it, onTestFinished } from 'vitest';
import { dataSourceOf } from '../../src/database/data-source.js';
import { RowLockedError } from '../../src/database/database-error.js';
import type { Statement, Statements } from '../../src/database/statements.js';
import { GroupInsert } from '../../src/resources/creates/group-insert.js';
import type { Row } from '../../src/resources/creates/group-insert.js';
import { EntityColumns } from '../../src/resources/properties/entity-columns.js';
import { INT64_COLUMN } from '../../src/resources/properties/int64.js';
import { createTestDatabase } from '../support/test-database.js';

@Entity('seeds')
class Seed {
  @PrimaryColumn(INT64_COLUMN)
  readonly id!: bigint;

  @Column('text')
  readonly name!: string;
}

it('a row that an earlier round has committed is not created again when a later round fails', async () => {
  const database = await createTestDatabase();
  const dataSource = dataSourceOf({ type: 'postgres', url: database.url, entities: [Seed] });
  const client = new Client({ connectionString: database.url });
  onTestFinished(async () => {
    await client.end();
    await dataSource.destroy();
    await database.drop();
  });
  await dataSource.initialize();
  await client.connect();
  await client.query('CREATE TABLE seeds (id bigint PRIMARY KEY, name text NOT NULL)');
  await client.query(`INSERT INTO seeds VALUES (1, 'stored')`);

  let inserts = 0;
  const statements = {
    run: ({ text, values = [] }: Statement) => {
      inserts += 1;
      if (inserts === 2) return Promise.reject(new RowLockedError());
      return client.query({ text, values: [...values] });
    },
    rows: async ({ text, values = [] }: Statement) => {
      const { rows } = await client.query({ text, values: [...values], rowMode: 'array' });
      return rows;
    },
  } as unknown as Pick<Statements, 'run' | 'rows'>;
  const columns = new EntityColumns(dataSource, Seed);
  const group = new GroupInsert<Seed>({
    columns: () => columns,
    statements,
    recordGroup: () => {},
    onCreated: () => {},
  });
  const rowOf = (id: bigint, name: string): Row<Seed> => {
    const content = { id, name };
    return { content, parameters: columns.parametersOf(content), actor: [] };
  };
  // The last one may equal the stored row, because of which the first one is rejected: a second round finds out.
  const rows = [rowOf(1n, 'other'), rowOf(2n, 'new'), rowOf(1n, 'stored')];
  await expect(group.perform(rows)).rejects.toThrow(RowLockedError);
  // Another request changes the row before the group is repeated.
  await client.query(`UPDATE seeds SET name = 'changed' WHERE id = 2`);
  expect(await group.perform(rows)).toEqual(['taken', 'created', 'unchanged']);
});
