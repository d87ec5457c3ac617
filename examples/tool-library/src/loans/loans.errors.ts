import { defineErrors } from '@resource-service/framework';

export const LOAN_ERRORS = defineErrors([30, 39], {
  loanNotFound: {
    number: 40430,
    message: 'there is no loan with this id',
    remedy: 'Create the loan, or check the id',
  },
  loanToolOnLoan: {
    number: 40930,
    message: 'the tool is on loan',
    remedy: 'Wait until it is returned',
  },
  loanToolNotFound: {
    number: 40931,
    message: 'there is no tool with the id in toolId',
    remedy: 'Create the tool first, or check the id',
  },
});
