import { Module } from '@nestjs/common';
import { FeedModule } from '@resource-service/changes';
import { ResourceModule } from '@resource-service/framework';
import { StoredSampleItemDto } from '../sample-items/dto/sample-item.dto.js';
import { SampleItemsModule } from '../sample-items/sample-items.module.js';
import { SampleItemsRepository } from '../sample-items/sample-items.repository.js';
import { SampleItemChange } from './sample-item-change.entity.js';
import { CreateSampleItemChanges1795395600001 } from './migrations/1795395600001-create-sample-item-changes.js';

/** Who changed which sample item when. */
@Module({
  imports: [
    ResourceModule.forFeature([SampleItemChange], {
      migrations: [CreateSampleItemChanges1795395600001],
    }),
    FeedModule.forFeature({
      module: SampleItemsModule,
      repository: SampleItemsRepository,
      path: 'sample-item-changes',
      scope: 'sample-items:read',
      one: 'a sample item',
      plural: 'sample items',
      property: 'sampleItem',
      stored: StoredSampleItemDto,
      schema: 'SampleItemChange',
      operationIds: ['listSampleItemChanges', 'getLatestSampleItemPosition'],
    }),
  ],
})
export class SampleItemChangesModule {}
