import { apiGeneratedOperations } from '@resource-service/framework';
import { NewLoanDto, StoredLoanDto } from './dto/loan.dto.js';
import { LOAN_ERRORS } from './loans.errors.js';

const ID = '01920000-0000-7000-8000-000000000001';

/** The documentation of the operations, of which a loan has some: it begins and ends, and does not change. */
export const API = apiGeneratedOperations({
  one: 'a loan',
  plural: 'loans',
  operationIds: ['Loan', 'Loans'],
  created: NewLoanDto,
  stored: StoredLoanDto,
  errors: {
    noSuch: LOAN_ERRORS.loanNotFound,
    others: [LOAN_ERRORS.loanToolOnLoan, LOAN_ERRORS.loanToolNotFound],
  },
  examples: {
    'a-loan': {
      summary: 'A loan of a tool, which createTool has stored',
      value: { id: ID, toolId: 2, borrower: 'Ada' },
    },
  },
  changed: ID,
  refused: { message: 'toolId is missing' },
});
