import { setTimeout as sleep } from 'node:timers/promises';
import { Controller, HttpCode, Injectable, Module, Param, Post } from '@nestjs/common';
import { InjectDataSource, InjectRepository, TypeOrmModule } from '@nestjs/typeorm';
import { FrameworkModule, Public, Statements, Transactions } from '@resource-service/framework';
import { Client } from 'pg';
import { DataSource, Repository } from 'typeorm';
import type { EntityManager } from 'typeorm';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Service } from '../../packages/framework/src/app/service.js';
import {
  createLogger,
  HTTP_LIMITS,
  Metrics,
  NO_TRACER,
  readConfig,
  startService,
  withDatabase,
} from '../../packages/framework/src/testing.js';
import { ENHANCERS } from '../../packages/framework/test/support/enhancers.js';
import type { TestDatabase } from '../../packages/framework/test/support/test-database.js';
import { IDENTITY } from '../../src/identity.js';
import { PlantChangesModule } from '../../src/plant-changes/plant-changes.module.js';
import { Plant } from '../../src/plants/plant.entity.js';
import { PlantsRepository } from '../../src/plants/plants.repository.js';
import { PlantsModule } from '../../src/plants/plants.module.js';
import { createMigratedDatabase } from '../support/migrated-database.js';
import { startPooler } from '../support/pooler.js';
import { TOKEN } from '../support/test-service.js';

const ORIGIN = {
  principal: { kind: 'static-token', id: 'a', scopes: 'all' },
  requestId: 'r',
} as const;

/** The ways in which a service changes a row by itself. */
@Injectable()
class Doors {
  constructor(
    @InjectDataSource() private readonly dataSource: DataSource,
    @InjectRepository(Plant) private readonly plants: Repository<Plant>,
    private readonly resource: PlantsRepository,
    private readonly statements: Statements,
    private readonly transactions: Transactions,
  ) {}

  readonly of: Readonly<Record<string, (id: bigint) => Promise<unknown>>> = {
    'Statements.run': (id) =>
      this.statements.run({
        text: `UPDATE plants SET name = 'new' WHERE id = $1`,
        values: [String(id)],
      }),
    'Statements.rows': (id) =>
      this.statements.rows({
        name: 'rename',
        text: `UPDATE plants SET name = 'new' WHERE id = $1 RETURNING id`,
        values: [String(id)],
      }),
    'Repository.update': (id) => this.plants.update({ id }, { name: 'new' }),
    'a query builder': (id) =>
      this.plants.createQueryBuilder().update().set({ name: 'new' }).where({ id }).execute(),
    'dataSource.query': (id) =>
      this.dataSource.query('SELECT FROM plants WHERE id = $1 FOR UPDATE', [String(id)]),
    'Repository.save': (id) => this.plants.save({ id, name: `new ${Math.random()}` }),
    'dataSource.transaction': (id) =>
      this.dataSource.transaction((manager) => this.rename(manager, id)),
    'Transactions.run': (id) => this.transactions.run((manager) => this.rename(manager, id)),
    'a statement beside Transactions.run': (id) =>
      this.transactions.run((manager) =>
        this.beside(manager, () => this.of['Statements.run']!(id)),
      ),
    'save beside dataSource.transaction': (id) =>
      this.dataSource.transaction((manager) =>
        this.beside(manager, () => this.of['Repository.save']!(id)),
      ),
    'a change of a resource beside Transactions.run': (id) =>
      this.transactions.run((manager) =>
        this.beside(manager, () => this.resource.patch(id, { name: 'new' }, { origin: ORIGIN })),
      ),
    'a create of a resource beside Transactions.run': (id) =>
      this.transactions.run((manager) =>
        this.beside(manager, () =>
          this.resource.create({ id: id + 100n, name: 'new' }, { origin: ORIGIN }),
        ),
      ),
    'reads of a resource beside dataSource.transaction': (id) =>
      this.dataSource.transaction((manager) =>
        this.beside(manager, async () => {
          await this.resource.find(id);
          await this.resource.list({ limit: 2 });
        }),
      ),
    'a transaction beside another': (id) =>
      this.dataSource.transaction((manager) =>
        this.beside(manager, () => this.of['dataSource.transaction']!(id)),
      ),
  };

  private rename(manager: EntityManager, id: bigint): Promise<unknown> {
    return manager.withRepository(this.plants).update({ id }, { name: 'new' });
  }

  private async beside(manager: EntityManager, work: () => Promise<unknown>): Promise<void> {
    await manager.query('SELECT 1');
    await work();
  }
}

@Controller('doors')
class DoorsController {
  constructor(private readonly doors: Doors) {}

  @Public()
  @Post(':door/:id')
  @HttpCode(200)
  async change(@Param('door') door: string, @Param('id') id: string): Promise<object> {
    await this.doors.of[door]!(BigInt(id));
    return {};
  }
}

@Module({
  imports: [
    FrameworkModule.forRoot(IDENTITY),
    PlantsModule,
    PlantChangesModule,
    TypeOrmModule.forFeature([Plant]),
  ],
  controllers: [DoorsController],
  providers: [Doors, ...ENHANCERS],
})
class AppModule {}

const DOORS = [
  'Statements.run',
  'Statements.rows',
  'Repository.update',
  'a query builder',
  'dataSource.query',
  'Repository.save',
  'dataSource.transaction',
  'Transactions.run',
];
/** Work that is not part of the transaction around it, as it should be. */
const BESIDE = [
  'a statement beside Transactions.run',
  'save beside dataSource.transaction',
  'a transaction beside another',
  'a change of a resource beside Transactions.run',
  'a create of a resource beside Transactions.run',
  'reads of a resource beside dataSource.transaction',
];

/** Creates that others want, by several clients at once, and changes by a single one. */
const WANTED = { creates: 60, clients: 3, patches: 15 };

describe.each([
  { poolMax: 2, crowd: 4, way: 'directly' },
  { poolMax: 6, crowd: 15, way: 'directly' },
  { poolMax: 10, crowd: 15, way: 'directly' },
  { poolMax: 6, crowd: 15, way: 'through a pooler' },
])('with $poolMax connections, and $crowd clients, $way,', ({ poolMax, crowd, way }) => {
  let database: TestDatabase;
  let service: Service;
  let other: Client;
  let stopPooler = () => Promise.resolve();
  let next = 1_000;

  beforeAll(async () => {
    database = await createMigratedDatabase();
    let { url } = database;
    if (way !== 'directly') {
      const pooler = await startPooler(url);
      ({ url } = pooler);
      stopPooler = () => pooler.stop();
    }
    const environment = {
      PORT: '0',
      MANAGEMENT_PORT: '0',
      AUTH_TOKEN: TOKEN,
      DATABASE_POOL_MAX: String(poolMax),
    };
    service = await startService(
      AppModule,
      withDatabase(readConfig(IDENTITY, environment), url),
      { logger: createLogger('silent'), metrics: new Metrics(IDENTITY), tracer: NO_TRACER },
      new AbortController().signal,
      HTTP_LIMITS,
    );
  });

  beforeEach(async () => {
    await database.empty();
    await database.query(
      "INSERT INTO plants (id, name) SELECT n, 'old' FROM generate_series(1, 9) AS n",
    );
    other = new Client({ connectionString: database.url });
    await other.connect();
  });

  afterEach(() => other.end());

  afterAll(async () => {
    await service.stop();
    await stopPooler();
    await database.drop();
  });

  const send = async (method: string, path: string, body: object = {}) => {
    const response = await fetch(`http://127.0.0.1:${service.address.port}${path}`, {
      method,
      headers: { Authorization: `Bearer ${TOKEN}`, 'Content-Type': 'application/json' },
      body: JSON.stringify(body),
    });
    const { error } = (await response.json()) as { readonly error?: number };
    return { status: response.status, error, retryAfter: response.headers.get('Retry-After') };
  };
  const change = (door: string, id: number) =>
    send('POST', `/doors/${encodeURIComponent(door)}/${id}`);

  /** @returns how long the work of others takes, in milliseconds */
  const work = async (): Promise<number> => {
    const begin = performance.now();
    const creates = Array.from({ length: WANTED.clients }, async () => {
      for (let n = 0; n < WANTED.creates / WANTED.clients; n += 1) {
        expect((await send('POST', '/plants', { id: (next += 1), name: 'other' })).status).toBe(
          200,
        );
      }
    });
    const patches = async () => {
      for (let n = 0; n < WANTED.patches; n += 1) {
        expect((await send('PATCH', '/plants/2', { name: `${n}` })).status).toBe(200);
      }
    };
    // With two connections, all but the creates share one.
    await Promise.all([...creates, ...(poolMax > 2 ? [patches()] : [])]);
    return performance.now() - begin;
  };

  it.each(DOORS)('a locked row that %s needs keeps no others waiting', async (door) => {
    const control = await work();
    await other.query('BEGIN; SELECT FROM plants WHERE id = 1 FOR UPDATE');
    const errors = new Set<unknown>();
    const end = new AbortController();
    const clients = Array.from({ length: crowd }, async () => {
      while (!end.signal.aborted) {
        const { error, retryAfter } = await change(door, 1);
        errors.add(error);
        expect(retryAfter).not.toBeNull();
      }
    });
    // From here on, all connections are in use that the crowd can get.
    await sleep(300);
    // Where all connections wait for the row, a few creates take more than a second.
    expect(await work()).toBeLessThan(2 * control + 3_000);
    end.abort();
    await Promise.all(clients);
    // Others found no connection for such work in time.
    expect([50304, 50307, 50310]).toEqual(expect.arrayContaining([...errors]));
    await other.query('COMMIT');
    expect((await change(door, 1)).status).toBe(200);
  });

  it.each([...DOORS, ...BESIDE])('%s works for many at once', async (door) => {
    // More than twice as many as there are connections, on the fewest of which each waits for all others.
    const many = 2 * poolMax + 4;
    const all = Array.from({ length: many }, (_, index) => change(door, 1 + (index % 9)));
    const statuses = (await Promise.all(all)).map(({ status }) => status);
    expect(new Set(statuses)).toEqual(new Set([200]));
  });
});
