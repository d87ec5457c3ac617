import { Injectable, Module, Scope } from '@nestjs/common';
import type { Type } from '@nestjs/common';
import { Column, Entity, Index, PrimaryColumn } from 'typeorm';
import type { EntityManager, MigrationInterface, QueryRunner } from 'typeorm';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import {
  Actor,
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
} from '../../framework/src/index.js';
import type { Service } from '../../framework/src/app/service.js';
import { createDetachedApp } from '../../framework/src/app/detached-app.js';
import { CHECK_INTERVAL } from '../../framework/src/observability/health.js';
import { schemaDifferences } from '../../framework/src/testing.js';
import { ENHANCERS } from '../../framework/test/support/enhancers.js';
import { IDENTITY } from '../../framework/test/support/identity.js';
import { PATIENCE } from '../../framework/test/support/patience.js';
import { start } from '../../framework/test/support/start.js';
import { createTestDatabase } from '../../framework/test/support/test-database.js';
import type { TestDatabase } from '../../framework/test/support/test-database.js';
import {
  ChangeConsumersModule,
  ChangeOf,
  ChangeConsumers,
  OnChange,
  recordChanges,
} from '../src/index.js';
import type { Feed, RecordedChange } from '../src/index.js';
import { createChanges } from '../src/migrations.js';

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

class ToolDto extends DtoOf(Tool) {}

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
      'CREATE TABLE counted (position bigint)',
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
const OPTIONS = { dto: ToolDto, filters: {}, idTaken: error, notFound: error };

@Injectable()
class ToolsRepository extends ResourceRepository<Tool, ListParameters, Feed>(Tool, {
  ...OPTIONS,
  name: 'tools',
  changes: recordChanges(ToolChange, 'tool'),
}) {}

type ToldChange = RecordedChange<ToolDto>;

/** What the handlers of the service do. */
const outside = {
  told: vi.fn<(change: ToldChange, signal: AbortSignal) => unknown>(),
  counted: vi.fn<(change: ToldChange) => unknown>(),
};

@Injectable()
class Notices {
  @OnChange(ToolsRepository)
  told(change: RecordedChange<ToolDto>, signal: AbortSignal): unknown {
    return outside.told(change, signal);
  }

  @OnChange(ToolsRepository, { name: 'counter', from: 'oldest', transaction: true })
  async count(change: ToldChange, manager: EntityManager): Promise<void> {
    await manager.query('INSERT INTO counted VALUES ($1)', [String(change.position)]);
    await outside.counted(change);
  }
}

@Module({
  imports: [
    ResourceModule.forFeature([Tool, ToolChange], { migrations: [CreateTools1795700000000] }),
  ],
  providers: [ToolsRepository],
  exports: [ToolsRepository],
})
class ToolsModule {}

function appWith(
  providers: readonly Type[],
  imports: readonly Type[] = [ChangeConsumersModule],
): Type {
  @Module({
    imports: [FrameworkModule.forRoot(IDENTITY), ToolsModule, ...imports],
    providers: [...ENHANCERS, ...providers],
  })
  class AppModule {}
  return AppModule;
}

const APP = appWith([Notices]);

let database: TestDatabase;
const running = new Set<Service>();

async function startTools(app = APP, environment = {}): Promise<Service> {
  const service = await start(app, database, environment);
  running.add(service);
  return service;
}

/** Waits until consumers have begun, so that they miss none of the changes that follow. */
async function untilBegun(count = 2): Promise<void> {
  const begun = () => database.query('SELECT FROM change_consumers WHERE position IS NOT NULL');
  await vi.waitFor(async () => expect(await begun()).toHaveLength(count), PATIENCE);
}

async function stop(service: Service): Promise<void> {
  running.delete(service);
  await service.stop();
}

beforeEach(async () => {
  database = await createTestDatabase();
});

afterEach(async () => {
  for (const service of running) await stop(service);
  await database.drop();
  for (const mock of Object.values(outside)) mock.mockReset();
});

const actor = Actor.system('test');

async function create(service: Service, ...ids: readonly number[]): Promise<void> {
  for (const id of ids) {
    await service.get(ToolsRepository).create({ id: BigInt(id), name: 'Saw' }, { actor });
  }
}

const told = () => outside.told.mock.calls.map(([{ id }]) => Number(id));
const expectTold = (...ids: readonly number[]) =>
  vi.waitFor(() => expect(told()).toEqual(ids), PATIENCE);

const recorded = async () =>
  (await database.query('SELECT position FROM tool_changes ORDER BY position')).map(
    ({ position }) => position,
  );
const counted = async () =>
  (await database.query('SELECT position FROM counted ORDER BY ctid')).map(
    ({ position }) => position,
  );

const ask = async ({ management }: Service, path: string) =>
  (await fetch(`http://127.0.0.1:${management.port}${path}`)).text();

describe('a consumer in the service', () => {
  it('gets each change as an object, in order, and goes on after a restart', async () => {
    const service = await startTools();
    await untilBegun();
    await create(service, 7);
    const tools = service.get(ToolsRepository);
    await tools.patch(7n, { borrower: 'Ada' }, { actor });
    await tools.remove(7n, { actor });
    await expectTold(7, 7, 7);
    const change = {
      id: 7n,
      principal: { kind: 'system', id: 'test' },
      requestId: actor.requestId,
      position: expect.any(BigInt) as bigint,
      time: expect.any(Date) as Date,
    };
    expect(outside.told.mock.calls.map(([found]) => found)).toEqual([
      { ...change, kind: 'created', content: { id: 7n, name: 'Saw' } },
      { ...change, kind: 'replaced', content: { id: 7n, name: 'Saw', borrower: 'Ada' } },
      { ...change, kind: 'removed', content: undefined },
    ]);
    await stop(service);
    const silent = await startTools(appWith([]));
    await create(silent, 1, 2);
    await stop(silent);
    expect(told()).toEqual([7, 7, 7]);
    await startTools();
    await expectTold(7, 7, 7, 1, 2);
    await vi.waitFor(async () => expect(await counted()).toEqual(await recorded()), PATIENCE);
  });

  it('begins after the newest change, or with the oldest one', async () => {
    const silent = await startTools(appWith([], []));
    await silent.get(ToolsRepository).create({ id: 1n, name: 'Saw' }, { actor });
    const service = await startTools();
    await untilBegun();
    await vi.waitFor(async () => expect(await counted()).toHaveLength(1), PATIENCE);
    await create(service, 2);
    await expectTold(2);
  });

  it('runs in one of two replicas, and in the other one when that is gone', async () => {
    const first = await startTools();
    const second = await startTools();
    await untilBegun();
    await create(first, 1, 2);
    await create(second, 3);
    await expectTold(1, 2, 3);
    await stop(first);
    const others = Array.from({ length: 250 }, (_, at) => at + 4);
    await create(second, ...others);
    await expectTold(1, 2, 3, ...others);
    await vi.waitFor(async () => expect(await counted()).toEqual(await recorded()), PATIENCE);
  });

  it('is taken over from a replica that is gone without a word, whose handler is told', async () => {
    const service = await startTools();
    await untilBegun();
    let signal: AbortSignal | undefined;
    outside.told.mockImplementationOnce((_, given) => {
      signal = given;
      return new Promise(() => {});
    });
    await create(service, 1);
    await expectTold(1);
    // Somebody else has it now.
    await database.query(
      `UPDATE change_consumers SET holder = 'other', leased_until = now() + interval '1 s' WHERE name = 'Notices.told'`,
    );
    await vi.waitFor(() => expect(signal?.aborted).toBe(true), PATIENCE);
    const [{ holder }] = (await database.query(
      `SELECT holder FROM change_consumers WHERE name = 'Notices.told'`,
    )) as [{ holder: unknown }];
    expect(holder).toBe('other');
    await startTools();
    await expectTold(1, 1);
  });

  it('whose handler throws tries again, holds nobody else up, and is seen', async () => {
    const service = await startTools();
    await untilBegun();
    outside.told.mockImplementation(({ id }) => {
      if (id === 1n) throw new Error('poisoned');
    });
    await create(service, 1, 2);
    await vi.waitFor(async () => expect(await counted()).toHaveLength(2), PATIENCE);
    await expectTold(1, 1);
    await vi.waitFor(
      async () =>
        expect(await ask(service, '/health/ready')).toMatch(
          /Notices\.told: position \d+: poisoned/,
        ),
      { timeout: PATIENCE, interval: CHECK_INTERVAL / 4 },
    );
    expect(await ask(service, '/health/ready')).toContain('"status":"ok"');
    const metrics = await ask(service, '/metrics');
    expect(metrics).toMatch(/change_consumer_errors_total\{consumer="Notices.told"\} [1-9]/);
    expect(metrics).toMatch(/change_consumer_errors_total\{consumer="counter"\} 0\n/);
    expect(metrics).toMatch(/change_consumer_lag_seconds\{consumer="Notices.told"\} [\d.]*[1-9]/);
    expect(metrics).toMatch(/change_consumer_lag_seconds\{consumer="counter"\} 0\n/);
    // The way on of an operator.
    await database.query(
      `UPDATE change_consumers SET position = (SELECT min(position) FROM tool_changes) WHERE name = 'Notices.told'`,
    );
    await vi.waitFor(() => expect(told().at(-1)).toBe(2), PATIENCE);
  });

  it('in transactions has its effects exactly once', async () => {
    const service = await startTools();
    await untilBegun();
    outside.counted.mockRejectedValueOnce(new Error('rolled back'));
    await create(service, 1, 2, 3);
    await vi.waitFor(async () => expect(await counted()).toEqual(await recorded()), PATIENCE);
    expect(outside.counted).toHaveBeenCalledTimes(4);
  });

  it('that may have missed changes says so, and goes on when an operator has decided how', async () => {
    const service = await startTools();
    await untilBegun();
    await create(service, 1);
    await expectTold(1);
    // Without a record.
    await database.query(`UPDATE tools SET name = 'Axe'`);
    await create(service, 2);
    await vi.waitFor(
      async () => expect(await ask(service, '/health/ready')).toContain('made without a record'),
      { timeout: PATIENCE, interval: CHECK_INTERVAL / 4 },
    );
    const reports = (metric: RegExp) =>
      vi.waitFor(async () => expect(await ask(service, '/metrics')).toMatch(metric), PATIENCE);
    await reports(/change_consumer_lost\{consumer="Notices\.told"\} 1\n/);
    // Twice if the consumer has read before the commit, too: then it is noticed up to a lower position first.
    await reports(/changes_unrecorded_total\{table="tools"\} [12]\n/);
    expect(told()).toEqual([1]);
    await database.query(
      `UPDATE change_consumers SET position = (SELECT pruned_to FROM tool_changes_horizon())`,
    );
    await expectTold(1, 2);
    await reports(/change_consumer_lost\{consumer="Notices\.told"\} 0\n/);
  });

  it('is waited for at a shutdown', async () => {
    const service = await startTools();
    await untilBegun();
    let end = (): void => {};
    outside.told.mockImplementation(() => new Promise<void>((resolve) => (end = resolve)));
    await create(service, 1, 2);
    await expectTold(1);
    const stopped = stop(service);
    setTimeout(() => end(), 200);
    await stopped;
    expect(told()).toEqual([1]);
    outside.told.mockImplementation(() => {});
    await startTools();
    await expectTold(1, 2);
  });

  it('gets nothing while changes are not recorded, and says so', async () => {
    const service = await startTools(APP, { CHANGES_ENABLED: 'false' });
    await vi.waitFor(
      async () =>
        expect(await ask(service, '/health/ready')).toContain(
          '"change-consumers":{"status":"unavailable"',
        ),
      { timeout: PATIENCE, interval: CHECK_INTERVAL / 4 },
    );
  });

  it('can be started and stopped by the service', async () => {
    const service = await startTools(appWith([]));
    const consumers = service.get(ChangeConsumers);
    const { changes: feed } = service.get(ToolsRepository);
    const handle = vi.fn<(change: RecordedChange) => void>();
    const end = consumers.start({ name: 'mine', feed, handle });
    await untilBegun(1);
    expect(() => consumers.start({ name: 'mine', feed, handle })).toThrow('have the name mine');
    await create(service, 1);
    await vi.waitFor(() => expect(handle).toHaveBeenCalledOnce(), PATIENCE);
    await end();
    await create(service, 2);
    await consumers.start({ name: 'mine', feed, handle })();
  });

  it('has a table as its entity says', async () => {
    expect(await schemaDifferences(await startTools())).toEqual([]);
  });
});

describe('a service does not start', () => {
  it('with handlers that would get no changes, all of which it names', async () => {
    @Injectable()
    class SilentRepository extends ResourceRepository<Tool, ListParameters>(Tool, {
      ...OPTIONS,
      name: 'silent tools',
    }) {}
    @Injectable()
    class AbsentRepository extends ToolsRepository {}
    // The compiler rejects the first one, too.
    @Injectable({ scope: Scope.REQUEST })
    class Scoped {
      @OnChange(ToolsRepository)
      told(): void {}
    }
    @Injectable()
    class Silent {
      @OnChange(SilentRepository as never)
      told(): void {}

      @OnChange(AbsentRepository)
      absent(): void {}
    }
    await expect(createDetachedApp(appWith([Silent, Scoped, SilentRepository]))).rejects.toThrow(
      [
        'Silent.told: @OnChange(SilentRepository): the resource records no changes',
        'Silent.absent: @OnChange(AbsentRepository): no module provides the repository',
        'Scoped.told: @OnChange(ToolsRepository) is not for a request-scoped provider',
      ].join('\n'),
    );
    await expect(createDetachedApp(appWith([Notices], []))).rejects.toThrow(
      'Notices.told: @OnChange(ToolsRepository) needs the import of ChangeConsumersModule',
    );
  });

  it('with two consumers of one name', async () => {
    @Injectable()
    class Counter {
      @OnChange(ToolsRepository, { name: 'counter' })
      count(): void {}
    }
    await expect(startTools(appWith([Notices, Counter]))).rejects.toThrow(
      'two consumers of changes have the name counter',
    );
  });
});
