import { setTimeout as sleep } from 'node:timers/promises';
import type { QueryRunner } from 'typeorm';

/** Milliseconds between two looks at an index that another session builds. */
const LOOK = 1_000;

/**
 * Creates an index while others write to its table. The migration must have `transaction = false`, and can be repeated
 * after an interruption: a valid index is kept, the remains of an interrupted build are dropped. If the session of a
 * migration that was killed still builds the index, waits for that session.
 *
 * @param definition what follows the name in `CREATE INDEX`
 *
 * @example await createIndexOnline(queryRunner, 'loans_due_id_idx', 'ON "loans" ("due", "id")');
 */
export async function createIndexOnline(
  queryRunner: QueryRunner,
  name: string,
  definition: string,
): Promise<void> {
  // First the builders, then the index: an index that is invalid without a builder stays invalid.
  while (await isBeingBuilt(queryRunner, name)) await sleep(LOOK);
  const [index] = (await queryRunner.query(
    `SELECT indisvalid AS valid FROM pg_index WHERE indexrelid = to_regclass('"${name}"')`,
  )) as readonly { readonly valid: boolean }[];
  if (index?.valid === true) return;
  if (index !== undefined) await dropIndexOnline(queryRunner, name);
  await queryRunner.query(`CREATE INDEX CONCURRENTLY "${name}" ${definition}`);
}

/**
 * Drops an index, if there is one, while others write to its table. The migration must have `transaction = false`.
 *
 * @example await dropIndexOnline(queryRunner, 'loans_due_id_idx');
 */
export async function dropIndexOnline(queryRunner: QueryRunner, name: string): Promise<void> {
  await queryRunner.query(`DROP INDEX CONCURRENTLY IF EXISTS "${name}"`);
}

async function isBeingBuilt(queryRunner: QueryRunner, name: string): Promise<boolean> {
  const builders = (await queryRunner.query(
    `SELECT 1 FROM pg_stat_progress_create_index
       WHERE datname = current_database() AND index_relid = to_regclass('"${name}"')`,
  )) as readonly unknown[];
  return builders.length > 0;
}
