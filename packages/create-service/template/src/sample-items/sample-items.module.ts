import { Module } from '@nestjs/common';
import { ResourceModule } from '@resource-service/framework';
import { SampleItem } from './sample-item.entity.js';
import { SampleItemsController } from './sample-items.controller.js';
import { SampleItemsRepository } from './sample-items.repository.js';
import { SampleItemsService } from './sample-items.service.js';
import { CreateSampleItems1795395600000 } from './migrations/1795395600000-create-sample-items.js';

@Module({
  imports: [
    ResourceModule.forFeature([SampleItem], { migrations: [CreateSampleItems1795395600000] }),
  ],
  controllers: [SampleItemsController],
  providers: [SampleItemsService, SampleItemsRepository],
  exports: [SampleItemsRepository],
})
export class SampleItemsModule {}
