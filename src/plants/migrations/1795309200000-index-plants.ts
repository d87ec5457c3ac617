import type { MigrationInterface, QueryRunner } from 'typeorm';
import { createIndexOnline, dropIndexOnline } from '@resource-service/framework';

export class IndexPlants1795309200000 implements MigrationInterface {
  readonly name = 'IndexPlants1795309200000';
  readonly transaction = false;

  async up(queryRunner: QueryRunner): Promise<void> {
    await createIndexOnline(
      queryRunner,
      'plants_tag_idx',
      `ON "plants" (hashtextextended("tag", 0), "id") WHERE "tag" IS NOT NULL`,
    );
    // Without statistics of the new expression, the planner would not use the index.
    await queryRunner.query(`ANALYZE "plants"`);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await dropIndexOnline(queryRunner, 'plants_tag_idx');
  }
}
