import { Body, Controller, Delete, Get, HttpCode, Param, Post, Query } from '@nestjs/common';
import {
  ApiResource,
  Created,
  Representation,
  RequestActor,
  RequestIdempotencyKey,
  RequireScope,
  UuidPipe,
} from '@resource-service/framework';
import type { Actor, Page } from '@resource-service/framework';
import { ListLoansDto, NewLoanDto, StoredLoanDto } from './dto/loan.dto.js';
import { LOAN_ERRORS } from './loans.errors.js';
import { LOAN_EXAMPLES } from './loans.examples.js';
import { LoansService } from './loans.service.js';

@ApiResource({
  one: 'a loan',
  plural: 'loans',
  dto: StoredLoanDto,
  errors: {
    noSuch: LOAN_ERRORS.loanNotFound,
    others: [LOAN_ERRORS.loanToolOnLoan, LOAN_ERRORS.loanToolNotFound],
  },
  examples: LOAN_EXAMPLES,
})
@Controller('loans')
export class LoansController {
  constructor(private readonly loans: LoansService) {}

  @Post()
  @RequireScope('tools:lend')
  async create(
    @Body() loan: NewLoanDto,
    @RequestActor() actor: Actor,
    @RequestIdempotencyKey() key: string | undefined,
  ): Promise<Created<StoredLoanDto>> {
    return new Created(await this.loans.begin(loan, actor, key));
  }

  @Get()
  @RequireScope('loans:read')
  list(@Query() query: ListLoansDto, @RequestActor() actor: Actor): Promise<Page<ListLoansDto>> {
    return this.loans.list(query, actor);
  }

  @Get(':id')
  @RequireScope('loans:read')
  async get(@Param('id', UuidPipe) id: string): Promise<Representation<StoredLoanDto>> {
    return new Representation(await this.loans.find(id));
  }

  @Delete(':id')
  @HttpCode(204)
  @RequireScope('tools:lend')
  remove(@Param('id', UuidPipe) id: string, @RequestActor() actor: Actor): Promise<void> {
    return this.loans.end(id, actor);
  }
}
