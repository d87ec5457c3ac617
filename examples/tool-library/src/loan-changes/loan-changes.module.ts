import { Module } from '@nestjs/common';
import { FeedModule } from '@resource-service/changes';
import { ResourceModule } from '@resource-service/framework';
import { StoredLoanDto } from '../loans/dto/loan.dto.js';
import { LoansModule } from '../loans/loans.module.js';
import { LoansRepository } from '../loans/loans.repository.js';
import { LoanChange } from './loan-change.entity.js';
import { CreateLoanChanges1795722720405 } from './migrations/1795722720405-create-loan-changes.js';

/** Who had which tool when. */
@Module({
  imports: [
    ResourceModule.forFeature([LoanChange], {
      migrations: [CreateLoanChanges1795722720405],
    }),
    FeedModule.forFeature({
      module: LoansModule,
      repository: LoansRepository,
      path: 'loan-changes',
      scope: 'loans:read',
      one: 'a loan',
      plural: 'loans',
      property: 'loan',
      stored: StoredLoanDto,
      schema: 'LoanChange',
      operationIds: ['listLoanChanges', 'getLatestLoanPosition'],
      example: { id: '01920000-0000-7000-8000-000000000001', toolId: 2, borrower: 'Ada' },
    }),
  ],
})
export class LoanChangesModule {}
