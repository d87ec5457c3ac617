import type { MigrationInterface, QueryRunner } from 'typeorm';
import { downgradeHistory, upgradeHistory } from '@resource-service/changes/migrations';

const TABLES = { table: 'plants', changes: 'plant_changes', namespace: 'plant_store' };

/** Readers are told of changes without a record, and miss nothing after failovers in a row. */
export class UpgradePlantChanges1795636800000 implements MigrationInterface {
  readonly name = 'UpgradePlantChanges1795636800000';

  async up(queryRunner: QueryRunner): Promise<void> {
    await upgradeHistory(queryRunner, TABLES);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await downgradeHistory(queryRunner, TABLES);
  }
}
