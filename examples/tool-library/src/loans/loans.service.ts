import { Injectable } from '@nestjs/common';
import { OnChange } from '@resource-service/changes';
import type { RecordedChange } from '@resource-service/changes';
import { Idempotency, ServiceException, Transactions } from '@resource-service/framework';
import type { Actor, Page } from '@resource-service/framework';
import { NoticesService } from '../notices/notices.service.js';
import { Tool } from '../tools/tool.entity.js';
import { ToolsRepository } from '../tools/tools.repository.js';
import { StoredLoanDto } from './dto/loan.dto.js';
import type { ListLoansDto, NewLoanDto } from './dto/loan.dto.js';
import { LOAN_ERRORS } from './loans.errors.js';
import { LoansRepository } from './loans.repository.js';

/** A loan, and the borrower of its tool, change together. */
@Injectable()
export class LoansService {
  constructor(
    private readonly loans: LoansRepository,
    private readonly tools: ToolsRepository,
    private readonly transactions: Transactions,
    private readonly idempotency: Idempotency,
    private readonly notices: NoticesService,
  ) {}

  /**
   * @param key of a client that may send the request again
   * @throws ServiceException `loan-tool-not-found`, `loan-tool-on-loan`, `idempotency-key-reused`
   */
  begin(loan: NewLoanDto, actor: Actor, key: string | undefined): Promise<StoredLoanDto> {
    const once = { key, operation: 'begin a loan', actor, content: loan };
    return this.idempotency.once(once, StoredLoanDto, async (manager) => {
      const tool = await manager.findOne(Tool, {
        where: { id: loan.toolId },
        lock: { mode: 'pessimistic_write' },
      });
      if (tool === null) throw new ServiceException(LOAN_ERRORS.loanToolNotFound);
      const begun = await this.loans.create(loan, { manager, actor });
      await this.tools.patch(tool.id, { borrower: loan.borrower }, { manager });
      return begun;
    });
  }

  list(query: ListLoansDto, actor: Actor): Promise<Page<ListLoansDto>> {
    return this.loans.list(query, { actor });
  }

  /** @throws ServiceException `loan-not-found` */
  find(id: string): Promise<StoredLoanDto> {
    return this.loans.find(id);
  }

  /** @throws ServiceException `loan-not-found` */
  async end(id: string, actor: Actor): Promise<void> {
    const { toolId } = await this.loans.find(id);
    await this.transactions.run(async (manager) => {
      await this.loans.remove(id, { manager, actor });
      await this.tools.patch(toolId, { borrower: null }, { manager });
      this.transactions.afterCommit(manager, () => this.notices.send(toolId));
    });
  }

  /** Tells another server of each loan and its end, in their order, also after a restart. */
  @OnChange(LoansRepository)
  tell({ kind, id }: RecordedChange<StoredLoanDto>, signal: AbortSignal): Promise<void> {
    return this.notices.post(`loan ${id} ${kind}`, signal);
  }
}
