import { Module } from '@nestjs/common';
import { APP_FILTER, APP_GUARD, APP_PIPE } from '@nestjs/core';
import { ChangeConsumersModule } from '@resource-service/changes';
import { AuthGuard, DtoPipe, ErrorFilter, FrameworkModule } from '@resource-service/framework';
import { IDENTITY } from './identity.js';
import { LoanChangesModule } from './loan-changes/loan-changes.module.js';
import { LoansModule } from './loans/loans.module.js';
import { ToolsModule } from './tools/tools.module.js';
import { VARIABLES } from './variables.js';

@Module({
  imports: [
    FrameworkModule.forRoot(IDENTITY, { variables: VARIABLES }),
    ToolsModule,
    LoansModule,
    LoanChangesModule,
    ChangeConsumersModule,
  ],
  providers: [
    { provide: APP_GUARD, useClass: AuthGuard },
    { provide: APP_PIPE, useClass: DtoPipe },
    { provide: APP_FILTER, useClass: ErrorFilter },
  ],
})
export class AppModule {}
