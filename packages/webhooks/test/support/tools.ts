import { Injectable, Module } from '@nestjs/common';
import { Column, Entity, Index, PrimaryColumn } from 'typeorm';
import type { MigrationInterface, QueryRunner } from 'typeorm';
import { ChangeOf, FeedModule, recordChanges } from '../../../changes/src/index.js';
import type { Feed } from '../../../changes/src/index.js';
import { createChanges } from '../../../changes/src/migrations.js';
import {
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
} from '../../../framework/src/index.js';
import { ENHANCERS } from '../../../framework/test/support/enhancers.js';
import { IDENTITY } from '../../../framework/test/support/identity.js';
import { WebhooksModule } from '../../src/index.js';

/* A service as another team writes it. */

@Entity('tools')
class Tool {
  @PrimaryColumn(INT64_COLUMN)
  @Int64Field({ description: 'The number of the tool.', example: 7 })
  readonly id!: bigint;

  @Column('text')
  @TextField({ description: 'What it is.', example: 'Saw' })
  readonly name!: string;

  @Column('text', { nullable: true })
  @TextField({ description: 'Who has it.', example: 'Ada', isOptional: true })
  readonly borrower!: string | null;
}

class StoredToolDto extends DtoOf(Tool) {}

@Index('tool_changes_id_position_idx', ['id', 'position'])
@Entity('tool_changes')
class ToolChange extends ChangeOf(Tool) {}

class CreateTools1795700000000 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    for (const statement of [
      'CREATE TABLE tools (id bigint PRIMARY KEY, name text NOT NULL, borrower text)',
      `CREATE TABLE tool_changes (position bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        time timestamptz(3) NOT NULL DEFAULT now(), kind text NOT NULL, principal text NOT NULL, request_id text NOT NULL,
        id bigint NOT NULL, name text, borrower text)`,
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

const error = () => new ServiceException(ERRORS.preconditionFailed);

@Injectable()
export class ToolsRepository extends ResourceRepository<Tool, ListParameters, Feed>(Tool, {
  name: 'tools',
  dto: StoredToolDto,
  filters: {},
  idTaken: error,
  notFound: error,
  changes: recordChanges(ToolChange, 'tool'),
}) {}

@Module({
  imports: [
    ResourceModule.forFeature([Tool, ToolChange], { migrations: [CreateTools1795700000000] }),
  ],
  providers: [ToolsRepository],
  exports: [ToolsRepository],
})
class ToolsModule {}

const FEED = FeedModule.forFeature({
  module: ToolsModule,
  repository: ToolsRepository,
  path: 'changes',
  scope: 'changes:read',
  one: 'a tool',
  plural: 'tools',
  property: 'tool',
  stored: StoredToolDto,
  schema: 'ToolChange',
  operationIds: ['listChanges', 'getLatestPosition'],
  example: { id: 7, name: 'Saw' },
});

@Module({
  imports: [FrameworkModule.forRoot(IDENTITY), ToolsModule, FEED, WebhooksModule.forRoot()],
  providers: ENHANCERS,
})
export class AppModule {}
