import { ApiSchema } from '@nestjs/swagger';
import { DtoOf, ListOf, NewOf, NoOtherParameters, related } from '@resource-service/framework';
import { StoredToolDto } from '../../tools/dto/tool.dto.js';
import { Loan } from '../loan.entity.js';

@ApiSchema({ name: 'NewLoan', description: 'A loan to begin.' })
export class NewLoanDto extends NewOf(Loan) {}

@ApiSchema({ name: 'StoredLoan', description: 'A loan with its id.' })
export class StoredLoanDto extends DtoOf(Loan) {}

/** What lists put into each loan on request. */
export const LOAN_EXPANSIONS = { tool: related('toolId', () => StoredToolDto, 'tools:read') };

@NoOtherParameters()
export class ListLoansDto extends ListOf(Loan, {}, LOAN_EXPANSIONS) {}
