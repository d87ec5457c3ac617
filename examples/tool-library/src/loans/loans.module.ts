import { Module } from '@nestjs/common';
import { ResourceModule } from '@resource-service/framework';
import { NoticesModule } from '../notices/notices.module.js';
import { ToolsModule } from '../tools/tools.module.js';
import { Loan } from './loan.entity.js';
import { LoansController } from './loans.controller.js';
import { LoansRepository } from './loans.repository.js';
import { LoansService } from './loans.service.js';
import { CreateLoans1795722720404 } from './migrations/1795722720404-create-loans.js';

@Module({
  imports: [
    ResourceModule.forFeature([Loan], { migrations: [CreateLoans1795722720404] }),
    NoticesModule,
    ToolsModule,
  ],
  controllers: [LoansController],
  providers: [LoansService, LoansRepository],
  exports: [LoansRepository],
})
export class LoansModule {}
