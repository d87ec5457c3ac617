import { Injectable } from '@nestjs/common';
import { recordChanges } from '@resource-service/changes';
import type { Feed } from '@resource-service/changes';
import { GeneratedIdRepository, ServiceException } from '@resource-service/framework';
import { LoanChange } from '../loan-changes/loan-change.entity.js';
import { LOAN_EXPANSIONS, StoredLoanDto } from './dto/loan.dto.js';
import type { ListLoansDto } from './dto/loan.dto.js';
import { Loan } from './loan.entity.js';
import { LOAN_ERRORS } from './loans.errors.js';

@Injectable()
export class LoansRepository extends GeneratedIdRepository<Loan, ListLoansDto, Feed>(Loan, {
  name: 'loans',
  dto: StoredLoanDto,
  filters: {},
  expansions: LOAN_EXPANSIONS,
  notFound: (id) =>
    new ServiceException(LOAN_ERRORS.loanNotFound, `there is no loan with id ${id}`),
  constraints: { loans_tool_id_key: LOAN_ERRORS.loanToolOnLoan },
  changes: recordChanges(LoanChange, 'loan'),
}) {}
