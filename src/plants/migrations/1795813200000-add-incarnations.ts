import type { MigrationInterface, QueryRunner } from 'typeorm';
import { addIncarnations, removeIncarnations } from '@resource-service/changes/migrations';

const TABLES = { table: 'plants', changes: 'plant_changes', namespace: 'plant_store' };

/** Positions of two servers cannot be taken for one another, and readers wait for prepared transactions. */
export class AddIncarnations1795813200000 implements MigrationInterface {
  readonly name = 'AddIncarnations1795813200000';

  async up(queryRunner: QueryRunner): Promise<void> {
    await addIncarnations(queryRunner, TABLES);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await removeIncarnations(queryRunner, TABLES);
  }
}
