import { Body, Controller, Delete, Get, HttpCode, Param, Post, Query } from '@nestjs/common';
import {
  Created,
  Representation,
  RequestIdempotencyKey,
  RequestOrigin,
  RequireScope,
  UuidPipe,
} from '@resource-service/framework';
import type { Origin, Page } from '@resource-service/framework';
import { ListLoansDto, NewLoanDto } from './dto/loan.dto.js';
import type { StoredLoanDto } from './dto/loan.dto.js';
import { API } from './loans.openapi.js';
import { LoansService } from './loans.service.js';

@Controller('loans')
export class LoansController {
  constructor(private readonly loans: LoansService) {}

  @Post()
  @RequireScope('tools:lend')
  @API.create
  async create(
    @Body() loan: NewLoanDto,
    @RequestOrigin() origin: Origin,
    @RequestIdempotencyKey() key: string | undefined,
  ): Promise<Created<StoredLoanDto>> {
    return new Created(await this.loans.begin(loan, origin, key));
  }

  @Get()
  @RequireScope('loans:read')
  @API.list
  list(@Query() query: ListLoansDto): Promise<Page<ListLoansDto>> {
    return this.loans.list(query);
  }

  @Get(':id')
  @RequireScope('loans:read')
  @API.get
  async get(@Param('id', UuidPipe) id: string): Promise<Representation<StoredLoanDto>> {
    return new Representation(await this.loans.find(id));
  }

  @Delete(':id')
  @HttpCode(204)
  @RequireScope('tools:lend')
  @API.remove
  remove(@Param('id', UuidPipe) id: string, @RequestOrigin() origin: Origin): Promise<void> {
    return this.loans.end(id, origin);
  }
}
