import type { DataSource } from 'typeorm';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Config } from '../src/config/config.js';
import { ConnectionShares } from '../src/database/connection-shares.js';
import { Statements } from '../src/database/statements.js';
import { Transactions } from '../src/database/transactions.js';
import { ERRORS } from '../src/errors/common-errors.js';
import { PlantStoreError } from '../src/errors/plant-store.error.js';
import { StoredPlantDto } from '../src/plants/dto/plant.dto.js';
import { Plant } from '../src/plants/plant.entity.js';
import { PLANT_ERRORS } from '../src/plants/plants.errors.js';
import { Changes } from '../src/resources/changes.js';
import { EntityColumns } from '../src/resources/entity-columns.js';
import { createDataSource } from './support/data-source.js';
import { createMigratedDatabase } from './support/test-database.js';
import type { TestDatabase } from './support/test-database.js';

let database: TestDatabase;
let dataSource: DataSource;
let transactions: Transactions;
let changes: Changes<Plant>;

beforeAll(async () => {
  database = await createMigratedDatabase();
  dataSource = await createDataSource(database.url).initialize();
  const shares = new ConnectionShares({ database: { poolMax: 3 } } as Config);
  transactions = new Transactions(dataSource, shares);
  const columns = new EntityColumns(dataSource, Plant);
  changes = new Changes<Plant>({
    entity: Plant,
    columns: () => columns,
    dto: StoredPlantDto,
    constraints: {},
    notFound: () => new PlantStoreError(PLANT_ERRORS.noSuchPlant),
    dataSource,
    shares,
    transactions,
    statements: new Statements(dataSource),
  });
});

beforeEach(async () => {
  await database.empty();
  await database.query(`INSERT INTO plants (id, name) VALUES (1, 'a'), (2, 'b'), (3, 'c')`);
});

afterAll(async () => {
  await dataSource.destroy();
  await database.drop();
});

const names = async () => {
  const rows = await database.query('SELECT id, name FROM plants ORDER BY id');
  return Object.fromEntries(rows.map(({ id, name }) => [id, name]));
};

describe('changes in a transaction', () => {
  it('are committed together', async () => {
    await transactions.run(async (manager) => {
      await changes.replace(1n, { name: 'A' }, undefined, { outer: manager });
      await changes.patch(2n, { name: 'B' }, () => true, { outer: manager });
      await changes.remove(3n, undefined, { outer: manager });
    });
    expect(await names()).toEqual({ 1: 'A', 2: 'B' });
  });

  it('are rolled back together if one of them is refused', async () => {
    const changed = transactions.run(async (manager) => {
      await changes.remove(3n, () => true, { outer: manager });
      await changes.replace(1n, { name: 'A' }, undefined, { outer: manager });
      await changes.patch(2n, { name: 'B' }, () => false, { outer: manager });
    });
    await expect(changed).rejects.toMatchObject({ kind: ERRORS.preconditionFailed });
    expect(await names()).toEqual({ 1: 'a', 2: 'b', 3: 'c' });
  });

  it.each([
    ['with a precondition', () => true],
    ['without a precondition', undefined],
  ])('are refused %s for a manager without a transaction', async (_, precondition) => {
    const outer = dataSource.manager;
    const changed = changes.patch(1n, { name: 'A' }, precondition, { outer });
    await expect(changed).rejects.toThrow(/^the manager has no transaction/);
    expect(await names()).toEqual({ 1: 'a', 2: 'b', 3: 'c' });
  });
});
