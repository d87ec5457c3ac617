import { addIncarnations, removeIncarnations } from '@resource-service/changes/migrations';
import type { MigrationInterface, QueryRunner } from 'typeorm';

const TABLES = { table: 'loans', changes: 'loan_changes', namespace: 'tool_library' };

export class AddIncarnationsToLoanChanges1795813200001 implements MigrationInterface {
  readonly name = 'AddIncarnationsToLoanChanges1795813200001';

  async up(queryRunner: QueryRunner): Promise<void> {
    await addIncarnations(queryRunner, TABLES);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await removeIncarnations(queryRunner, TABLES);
  }
}
