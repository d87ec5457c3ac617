import { Module } from '@nestjs/common';
import { APP_FILTER, APP_GUARD, APP_PIPE } from '@nestjs/core';
import { AuthGuard, DtoPipe, ErrorFilter, FrameworkModule } from '@resource-service/framework';
import { IDENTITY } from './identity.js';
import { SampleItemChangesModule } from './sample-item-changes/sample-item-changes.module.js';
import { SampleItemsModule } from './sample-items/sample-items.module.js';

@Module({
  imports: [FrameworkModule.forRoot(IDENTITY), SampleItemsModule, SampleItemChangesModule],
  providers: [
    { provide: APP_GUARD, useClass: AuthGuard },
    { provide: APP_PIPE, useClass: DtoPipe },
    { provide: APP_FILTER, useClass: ErrorFilter },
  ],
})
export class AppModule {}
