import { Module } from '@nestjs/common';
import { FrameworkModule } from '@resource-service/framework';
import { IDENTITY } from './identity.js';
import { LoanChangesModule } from './loan-changes/loan-changes.module.js';
import { LoansModule } from './loans/loans.module.js';
import { ToolsModule } from './tools/tools.module.js';

@Module({
  imports: [FrameworkModule.forRoot(IDENTITY), ToolsModule, LoansModule, LoanChangesModule],
})
export class AppModule {}
