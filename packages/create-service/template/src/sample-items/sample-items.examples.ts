import type { ResourceExamples } from '@resource-service/framework';

/** Requests that succeed in an empty service, in this order. */
export const SAMPLE_ITEM_EXAMPLES: ResourceExamples = {
  create: {
    'with-note': {
      summary: 'A sample item with a note',
      value: { id: 1, name: 'First', note: 'In use' },
    },
    'without-note': {
      summary: 'A sample item without a note',
      value: { id: 2, name: 'Second' },
    },
  },
  replace: {
    'with-note': { summary: 'A new name and a note', value: { name: 'Third', note: 'New' } },
  },
  patch: {
    note: { summary: 'Another note', value: { note: 'Old' } },
    'no-note': { summary: 'No note', value: { note: null } },
  },
};
