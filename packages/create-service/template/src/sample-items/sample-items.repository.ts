import { Injectable } from '@nestjs/common';
import { recordChanges } from '@resource-service/changes';
import type { Feed } from '@resource-service/changes';
import { GeneratedIdRepository, ServiceException } from '@resource-service/framework';
import { SampleItemChange } from '../sample-item-changes/sample-item-change.entity.js';
import { StoredSampleItemDto } from './dto/sample-item.dto.js';
import type { ListSampleItemsDto } from './dto/sample-item.dto.js';
import { SampleItem } from './sample-item.entity.js';
import { SAMPLE_ITEM_ERRORS } from './sample-items.errors.js';

@Injectable()
export class SampleItemsRepository extends GeneratedIdRepository<
  SampleItem,
  ListSampleItemsDto,
  Feed
>(SampleItem, {
  name: 'sample items',
  dto: StoredSampleItemDto,
  filters: {},
  notFound: (id) =>
    new ServiceException(
      SAMPLE_ITEM_ERRORS.sampleItemNotFound,
      `there is no sample item with id ${id}`,
    ),
  changes: recordChanges(SampleItemChange, 'sampleItem'),
}) {}
