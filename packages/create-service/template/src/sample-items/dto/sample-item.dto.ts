import { ApiSchema } from '@nestjs/swagger';
import {
  BodyTypes,
  DtoOf,
  ExportOf,
  ListOf,
  NewOf,
  NoOtherParameters,
  PATCH_TYPES,
  PatchOf,
  ReplacementOf,
} from '@resource-service/framework';
import { SampleItem } from '../sample-item.entity.js';

@ApiSchema({ name: 'NewSampleItem', description: 'A sample item to create.' })
export class NewSampleItemDto extends NewOf(SampleItem) {}

@ApiSchema({ name: 'StoredSampleItem', description: 'A sample item with its id.' })
export class StoredSampleItemDto extends DtoOf(SampleItem) {}

@ApiSchema({ name: 'SampleItemReplacement', description: 'The new content of a sample item.' })
export class SampleItemReplacementDto extends ReplacementOf(SampleItem) {}

@BodyTypes(...PATCH_TYPES)
@ApiSchema({
  name: 'SampleItemPatch',
  description: 'The fields to change. Fields that are absent stay as they are.',
})
export class SampleItemPatchDto extends PatchOf(SampleItem) {}

@NoOtherParameters()
export class ListSampleItemsDto extends ListOf(SampleItem) {}

@NoOtherParameters()
export class ExportSampleItemsDto extends ExportOf(ListSampleItemsDto) {}
