import { ApiSchema } from '@nestjs/swagger';
import { DtoOf, ListOf, NewOf, NoOtherParameters } from '@resource-service/framework';
import { Loan } from '../loan.entity.js';

@ApiSchema({ name: 'NewLoan', description: 'A loan to begin.' })
export class NewLoanDto extends NewOf(Loan) {}

@ApiSchema({ name: 'StoredLoan', description: 'A loan with its id.' })
export class StoredLoanDto extends DtoOf(Loan) {}

@NoOtherParameters()
export class ListLoansDto extends ListOf(Loan) {}
