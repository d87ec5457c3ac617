import { recordChanges } from '@resource-service/changes';
import { pino } from 'pino';
import type { DataSource } from 'typeorm';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Config } from '../../packages/framework/src/config/config.js';
import { Bulkheads } from '../../packages/framework/src/database/bulkheads.js';
import { CommitHooks } from '../../packages/framework/src/database/commit-hooks.js';
import { Statements } from '../../packages/framework/src/database/statements.js';
import { Transactions } from '../../packages/framework/src/database/transactions.js';
import { ERRORS } from '../../packages/framework/src/errors/common-errors.js';
import { ServiceException } from '../../packages/framework/src/errors/service.exception.js';
import { IDENTITY } from '../../src/identity.js';
import { StoredPlantDto } from '../../src/plants/dto/plant.dto.js';
import { Plant } from '../../src/plants/plant.entity.js';
import { PlantChange } from '../../src/plants/plant-change.entity.js';
import { PLANT_ERRORS } from '../../src/plants/plants.errors.js';
import { Updates } from '../../packages/framework/src/resources/updates/updates.js';
import { EntityColumns } from '../../packages/framework/src/resources/properties/entity-columns.js';
import { GroupCreate } from '../../packages/framework/src/resources/creates/group-create.js';
import type { RecordedResource } from '../../packages/framework/src/resources/recording/change-recorder.js';
import type { Actor } from '../../packages/framework/src/resources/recording/actor.js';
import { Metrics } from '../../packages/framework/src/observability/metrics.js';
import { NO_TRACER } from '../../packages/framework/src/observability/tracer.js';
import { RowSlots } from '../../packages/framework/src/resources/locks/row-slots.js';
import { createDataSource } from '../support/data-source.js';
import { createMigratedDatabase } from '../support/migrated-database.js';
import type { TestDatabase } from '../../packages/framework/test/support/test-database.js';

let database: TestDatabase;
let dataSource: DataSource;
let transactions: Transactions;
let updates: Updates<Plant>;
let creates: GroupCreate<StoredPlantDto>;
const closing = new AbortController();

const ACTOR: Actor = {
  principal: { kind: 'jwt', id: 'alice', scopes: 'all' },
  requestId: 'request',
};

beforeAll(async () => {
  database = await createMigratedDatabase();
  dataSource = await createDataSource(database.url).initialize();
  const bulkheads = new Bulkheads({ database: { poolMax: 3 } } as Config);
  transactions = new Transactions(
    dataSource,
    bulkheads,
    new CommitHooks(pino({ level: 'silent' })),
  );
  const columns = new EntityColumns(dataSource, Plant);
  const rowSlots = new RowSlots(bulkheads);
  const parts = {
    columns: () => columns,
    statements: new Statements(dataSource),
    constraints: {},
    indexed: () => new Set<string>(),
    entity: Plant,
    dto: StoredPlantDto,
    notFound: () => new ServiceException(PLANT_ERRORS.noSuchPlant),
    dataSource,
    bulkheads,
    transactions,
    locked: rowSlots.locked,
    rowSlots,
  };
  const recorder = recordChanges(
    PlantChange,
    'plant',
  )({
    ...parts,
    name: 'plants',
    metrics: new Metrics(IDENTITY),
    config: { changes: { enabled: true, retention: 86_400_000 } },
    logger: pino({ level: 'silent' }),
    shutdown: closing.signal,
  } as unknown as RecordedResource);
  await recorder.start(closing.signal);
  updates = new Updates<Plant>({ ...parts, recorder });
  creates = new GroupCreate<StoredPlantDto>({
    ...parts,
    recorder,
    idTaken: () => new ServiceException(PLANT_ERRORS.idTaken),
    recordGroup: () => {},
    tracer: NO_TRACER,
    onCreated: () => {},
    lockedSlots: bulkheads.locked,
  });
});

beforeEach(async () => {
  await database.empty();
  await database.query(`INSERT INTO plants (id, name) VALUES (1, 'a'), (2, 'b'), (3, 'c')`);
});

afterAll(async () => {
  closing.abort();
  await dataSource.destroy();
  await database.drop();
});

const names = async () => {
  const rows = await database.query('SELECT id, name FROM plants ORDER BY id');
  return Object.fromEntries(rows.map(({ id, name }) => [id, name]));
};

const records = () => database.query('SELECT kind, id FROM plant_changes ORDER BY position');

describe('creates and changes in a transaction', () => {
  it('are committed together, with their records', async () => {
    await transactions.run(async (manager) => {
      expect(await creates.create({ id: 4n, name: 'd' }, ACTOR, manager)).toBe('created');
      const context = { actor: ACTOR, manager };
      await updates.replace(1n, { name: 'A' }, context);
      await updates.patch(2n, { name: 'B' }, { ...context, precondition: () => true });
      await updates.remove(3n, context);
      expect(await records()).toEqual([]);
    });
    expect(await names()).toEqual({ 1: 'A', 2: 'B', 4: 'd' });
    expect(await records()).toEqual([
      { kind: 'created', id: '4' },
      { kind: 'replaced', id: '1' },
      { kind: 'replaced', id: '2' },
      { kind: 'removed', id: '3' },
    ]);
  });

  it('are rolled back together if one of them is refused, and leave no records', async () => {
    const changed = transactions.run(async (manager) => {
      const context = { actor: ACTOR, manager };
      await creates.create({ id: 4n, name: 'd' }, ACTOR, manager);
      await updates.remove(3n, { ...context, precondition: () => true });
      await updates.replace(1n, { name: 'A' }, context);
      await updates.patch(2n, { name: 'B' }, { ...context, precondition: () => false });
    });
    await expect(changed).rejects.toMatchObject({ kind: ERRORS.preconditionFailed });
    expect(await names()).toEqual({ 1: 'a', 2: 'b', 3: 'c' });
    expect(await records()).toEqual([]);
  });

  it('are the same when they are sent again, and leave the transaction usable when the id is taken', async () => {
    await transactions.run(async (manager) => {
      expect(await creates.create({ id: 1n, name: 'a' }, ACTOR, manager)).toBe('unchanged');
      const taken = creates.create({ id: 2n, name: 'other' }, ACTOR, manager);
      await expect(taken).rejects.toMatchObject({ kind: PLANT_ERRORS.idTaken });
      await creates.create({ id: 4n, name: 'd' }, ACTOR, manager);
    });
    expect(await records()).toEqual([{ kind: 'created', id: '4' }]);
  });

  it('may name the actor origin, as before', async () => {
    await transactions.run((manager) => updates.remove(3n, { origin: ACTOR, manager }));
    expect(await records()).toEqual([{ kind: 'removed', id: '3' }]);
  });

  it('are refused without an actor', async () => {
    const create = creates.create({ id: 4n, name: 'd' }, undefined, dataSource.manager);
    await expect(create).rejects.toThrow('a change that is recorded needs an actor');
  });

  it('are refused for a manager without a transaction, with a precondition or not', async () => {
    const context = { actor: ACTOR, manager: dataSource.manager };
    for (const refused of [
      creates.create({ id: 4n, name: 'd' }, ACTOR, dataSource.manager),
      updates.patch(1n, { name: 'A' }, context),
      updates.patch(1n, { name: 'A' }, { ...context, precondition: () => true }),
    ]) {
      await expect(refused).rejects.toThrow(/^the manager has no transaction/);
    }
    expect(await names()).toEqual({ 1: 'a', 2: 'b', 3: 'c' });
  });
});
