import { Injectable, Module } from '@nestjs/common';
import { Column, Entity, Index, PrimaryColumn } from 'typeorm';
import type { MigrationInterface, QueryRunner } from 'typeorm';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import {
  Actor,
  DecimalField,
  DtoOf,
  ERRORS,
  FrameworkModule,
  INT64_COLUMN,
  Int64Field,
  ListParameters,
  ResourceModule,
  ResourceRepository,
  ServiceException,
  TextField,
  Transactions,
} from '../../framework/src/index.js';
import type { Service } from '../../framework/src/app/service.js';
import { ENHANCERS } from '../../framework/test/support/enhancers.js';
import { IDENTITY } from '../../framework/test/support/identity.js';
import { start } from '../../framework/test/support/start.js';
import { createTestDatabase } from '../../framework/test/support/test-database.js';
import type { TestDatabase } from '../../framework/test/support/test-database.js';
import { ChangeOf, recordChanges } from '../src/index.js';
import type { Feed } from '../src/index.js';
import { createChanges } from '../src/migrations.js';

@Entity('tools')
class Tool {
  @PrimaryColumn(INT64_COLUMN)
  @Int64Field({ description: 'The number of the tool.', example: 7 })
  readonly id!: bigint;

  @Column('text')
  @TextField({ description: 'What it is.', example: 'Saw' })
  readonly name!: string;

  @DecimalField({ description: 'What it costs.', example: '9.50', precision: 6, scale: 2 })
  readonly price!: string;
}

class ToolDto extends DtoOf(Tool) {}

@Index('tool_changes_id_position_idx', ['id', 'position'])
@Entity('tool_changes')
class ToolChange extends ChangeOf(Tool) {}

class CreateTools1795700000000 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    for (const statement of [
      'CREATE TABLE tools (id bigint PRIMARY KEY, name text NOT NULL CONSTRAINT named UNIQUE, price numeric(6, 2) NOT NULL)',
      `CREATE TABLE tool_changes (position bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        time timestamptz(3) NOT NULL DEFAULT now(), kind text NOT NULL, principal text NOT NULL, request_id text NOT NULL,
        id bigint NOT NULL, name text, price numeric(6, 2))`,
      'CREATE INDEX tool_changes_id_position_idx ON tool_changes (id, position)',
    ]) {
      await queryRunner.query(statement);
    }
    await createChanges(queryRunner, { table: 'tools', changes: 'tool_changes' });
  }

  down(): Promise<void> {
    return Promise.resolve();
  }
}

const created: bigint[] = [];

@Injectable()
class ToolsRepository extends ResourceRepository<Tool, ListParameters, Feed>(Tool, {
  name: 'tools',
  dto: ToolDto,
  filters: {},
  constraints: { named: ERRORS.preconditionFailed },
  idTaken: (id) => new ServiceException(ERRORS.bodyNotValid, `${id} is taken`),
  notFound: () => new ServiceException(ERRORS.noSuchPath),
  changes: recordChanges(ToolChange, 'tool'),
  onCreated: (tools) => created.push(...tools.map(({ id }) => id)),
}) {}

@Module({
  imports: [
    FrameworkModule.forRoot(IDENTITY),
    ResourceModule.forFeature([Tool, ToolChange], { migrations: [CreateTools1795700000000] }),
  ],
  providers: [ToolsRepository, ...ENHANCERS],
})
class AppModule {}

const actor = Actor.system('stock');

let database: TestDatabase;
let service: Service;
let tools: ToolsRepository;

beforeAll(async () => {
  database = await createTestDatabase();
  service = await start(AppModule, database);
  tools = service.get(ToolsRepository);
});

beforeEach(async () => {
  await database.query('TRUNCATE tools, tool_changes');
  created.length = 0;
});

afterAll(async () => {
  await service.stop();
  await database.drop();
});

const tool = (id: number, price = '1.5') => ({ id: BigInt(id), name: `Saw ${id}`, price });
const upTo = (count: number) => Array.from({ length: count }, (_, at) => at + 1);

const stored = async () =>
  (await database.query('SELECT id FROM tools ORDER BY id')).map(({ id }) => Number(id));

const records = async () =>
  (await database.query('SELECT kind, id, price FROM tool_changes ORDER BY position')).map(
    ({ kind, id, price }) => [kind, id, price].join(' '),
  );

/** Whether a change since the beginning of the test has no record. */
async function isUnrecorded(position: bigint): Promise<boolean> {
  const [row] = await database.query('SELECT pruned_to FROM tool_changes_horizon()');
  return BigInt(row!['pruned_to'] as string) > position;
}

describe('createMany', () => {
  it('creates and records all, and returns what is stored', async () => {
    const before = await tools.changes.latest();
    const result = await tools.createMany([tool(2), tool(1, '2.25')], { actor });
    expect(result).toEqual([tool(2, '1.50'), tool(1, '2.25')]);
    expect(await records()).toEqual(['created 1 2.25', 'created 2 1.50']);
    expect(created).toEqual([1n, 2n]);
    expect(await isUnrecorded(before)).toBe(false);
    expect(await tools.createMany([], { actor })).toEqual([]);
  });

  it('has room for more rows than a statement, and changes nothing when it is repeated', async () => {
    const many = upTo(1_100).map((id) => tool(id));
    await tools.createMany(many.toReversed(), { actor });
    await tools.createMany(many, { actor });
    expect(await stored()).toEqual(upTo(1_100));
    expect(await records()).toHaveLength(1_100);
    expect(created).toHaveLength(1_100);
  });

  it.each([
    ['an id is taken', { id: 1n, name: 'Axe', price: '1' }, '1 is taken'],
    ['a constraint is violated', { id: 3n, name: 'Saw 1', price: '1' }, 'precondition'],
    ['a value does not fit', { id: 3n, name: 'Axe', price: '99999' }, 'property|member'],
  ])('creates nothing if %s', async (_, wrong, message) => {
    await tools.create(tool(1), { actor });
    created.length = 0;
    await expect(tools.createMany([tool(2), wrong], { actor })).rejects.toThrow(
      new RegExp(message),
    );
    expect(await stored()).toEqual([1]);
    expect(await records()).toEqual(['created 1 1.50']);
    expect(created).toEqual([]);
  });

  it('is part of a transaction, and needs an actor', async () => {
    await expect(tools.createMany([tool(1)])).rejects.toThrow('needs an actor');
    const rolledBack = new Error('rolled back');
    const work = service.get(Transactions).run(async (manager) => {
      expect(await tools.createMany([tool(1)], { actor, manager })).toEqual([tool(1, '1.50')]);
      await tools.patchMany([1n], { price: '3' }, { actor, manager });
      throw rolledBack;
    });
    await expect(work).rejects.toBe(rolledBack);
    expect(await stored()).toEqual([]);
    expect(await records()).toEqual([]);
    expect(created).toEqual([]);
  });
});

describe('patchMany', () => {
  it('changes and records the rows that there are, and not those that stay as they are', async () => {
    await tools.createMany([tool(1), tool(2), tool(3, '3')], { actor });
    const before = await tools.changes.latest();
    const changed = await tools.patchMany([3n, 9n, 1n, 3n], { price: '3' }, { actor });
    expect(changed).toEqual([tool(3, '3.00'), tool(1, '3.00')]);
    expect((await records()).slice(3)).toEqual(['replaced 1 3.00']);
    expect(await isUnrecorded(before)).toBe(false);
    expect(await tools.patchMany([], { price: '4' }, { actor })).toEqual([]);
  });

  it('changes nothing if a row is rejected, or the patch has an id', async () => {
    await tools.createMany([tool(1), tool(2)], { actor });
    const rename = (patch: object) => tools.patchMany([1n, 2n], patch, { actor });
    await expect(rename({ name: 'Saw 2' })).rejects.toThrow('precondition');
    await expect(rename({ id: 1n, name: 'Axe' })).rejects.toThrow('id cannot be changed');
    expect(await records()).toHaveLength(2);
  });

  it('changes rows without records if none are wanted', async () => {
    await tools.createMany([tool(1), tool(2)], { actor });
    const other = await start(AppModule, database, { CHANGES_ENABLED: 'false' });
    try {
      const changed = await other.get(ToolsRepository).patchMany([2n, 1n], { price: '4' });
      expect(changed).toEqual([tool(2, '4.00'), tool(1, '4.00')]);
    } finally {
      await other.stop();
    }
    expect(await records()).toHaveLength(2);
  });

  it('beside others has all changes, each with its record', async () => {
    const ids = upTo(20);
    await tools.createMany(
      ids.map((id) => tool(id)),
      { actor },
    );
    const patches = upTo(8).map((price) => {
      const some = price % 2 === 0 ? ids : ids.toReversed();
      return tools.patchMany(some.map(BigInt), { price: `${price + 1}` }, { actor });
    });
    await Promise.all(patches);
    expect(await records()).toHaveLength(20 * 9);
    const last = await database.query(`SELECT FROM tools JOIN (SELECT DISTINCT ON (id) id, price
      FROM tool_changes ORDER BY id, position DESC) AS newest USING (id, price)`);
    expect(last).toHaveLength(20);
  });
});
