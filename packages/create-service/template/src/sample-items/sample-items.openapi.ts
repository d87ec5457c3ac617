import { apiGeneratedOperations } from '@resource-service/framework';
import {
  StoredSampleItemDto,
  SampleItemPatchDto,
  SampleItemReplacementDto,
  NewSampleItemDto,
} from './dto/sample-item.dto.js';
import { SAMPLE_ITEM_ERRORS } from './sample-items.errors.js';

/** The documentation of the operations. Its examples succeed in an empty service if they are sent in this order. */
export const API = apiGeneratedOperations({
  one: 'a sample item',
  plural: 'sample items',
  operationIds: ['SampleItem', 'SampleItems'],
  created: NewSampleItemDto,
  stored: StoredSampleItemDto,
  replacement: SampleItemReplacementDto,
  patch: SampleItemPatchDto,
  errors: { noSuch: SAMPLE_ITEM_ERRORS.sampleItemNotFound },
  examples: {
    'with-note': {
      summary: 'A sample item with a note',
      value: { id: 1, name: 'First', note: 'In use' },
    },
    'without-note': {
      summary: 'A sample item without a note',
      value: { id: 2, name: 'Second' },
    },
  },
  changed: 1,
  replacements: {
    'with-note': { summary: 'A new name and a note', value: { name: 'Third', note: 'New' } },
  },
  patches: {
    note: { summary: 'Another note', value: { note: 'Old' } },
    'no-note': { summary: 'No note', value: { note: null } },
  },
  refused: { message: 'name is missing' },
});
