import { expect, inject, onTestFinished, vi } from 'vitest';
import { PATIENCE } from '../../packages/framework/test/support/patience.js';
import { createTestDatabase } from '../../packages/framework/test/support/test-database.js';
import type { TestDatabase } from '../../packages/framework/test/support/test-database.js';

/** A database with the schema of the service. */
export function createMigratedDatabase(): Promise<TestDatabase> {
  // Copies files, which takes half of the processor time of writing the copy to the WAL.
  return createTestDatabase(`TEMPLATE ${inject('migratedDatabase')} STRATEGY file_copy`);
}

/** A database with the schema of the service, which goes with the test. */
export async function databaseForTest(): Promise<TestDatabase> {
  const database = await createMigratedDatabase();
  onTestFinished(() => database.drop());
  return database;
}

/** Waits until no statement of the service runs. */
export async function nothingRuns(database: TestDatabase): Promise<void> {
  await vi.waitFor(async () => {
    const running = await database.query(
      "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'plant-store' AND state <> 'idle'",
    );
    expect(running).toEqual([]);
  }, PATIENCE);
}
