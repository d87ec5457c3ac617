import type { MigrationInterface, QueryRunner } from 'typeorm';
import { createIndexOnline, dropIndexOnline } from '@resource-service/framework';

export class SortPlants1795809600000 implements MigrationInterface {
  readonly name = 'SortPlants1795809600000';
  readonly transaction = false;

  async up(queryRunner: QueryRunner): Promise<void> {
    await createIndexOnline(
      queryRunner,
      'plants_tag_sort_idx',
      `ON "plants" (left("tag", 100) COLLATE "C", "id")`,
    );
    // Without statistics of the new expression, the planner would not use the index.
    await queryRunner.query(`ANALYZE "plants"`);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await dropIndexOnline(queryRunner, 'plants_tag_sort_idx');
  }
}
