import { Module } from '@nestjs/common';
import { FrameworkModule } from '@resource-service/framework';
import { IDENTITY } from './identity.js';
import { SampleItemChangesModule } from './sample-item-changes/sample-item-changes.module.js';
import { SampleItemsModule } from './sample-items/sample-items.module.js';

@Module({
  imports: [FrameworkModule.forRoot(IDENTITY), SampleItemsModule, SampleItemChangesModule],
})
export class AppModule {}
