import { DataSource } from 'typeorm';
import { generateMigration } from '../database/migrations/migration-file.js';
import { allSortIndexes } from '../resources/reads/sort-indexes.js';
import type { TestingService } from './testing-service.js';

/**
 * The statements that `npm run migration:generate` would write; none if the tables, which the migrations have made, equal the
 * entities of all modules.
 *
 * @example
 * expect(await schemaDifferences(service)).toEqual([]);
 */
export async function schemaDifferences(
  service: Pick<TestingService, 'get'>,
): Promise<readonly string[]> {
  const dataSource = service.get(DataSource);
  const migration = await generateMigration(dataSource, 'Differences', 1, () => {}, {
    isOwn: () => true,
    indexes: allSortIndexes(dataSource),
  });
  return migration?.statements ?? [];
}
