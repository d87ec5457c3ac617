import type { ResourceExamples } from '@resource-service/framework';

/** Requests that succeed in this order, after the examples of plants. */
export const GARDEN_EXAMPLES: ResourceExamples = {
  create: {
    'with-note': {
      summary: 'A garden with a note',
      value: { id: 2001, name: 'Kitchen garden', note: 'South wall' },
    },
    'without-note': { summary: 'A garden without a note', value: { id: 2002, name: 'Yard' } },
    // #region plants
    'with-plant': {
      summary: 'A garden with a plant, which createPlant has stored',
      value: { id: 2003, name: 'Court', plantId: 1002 },
    },
    // #endregion
  },
  replace: {
    'with-note': { summary: 'A new name and a note', value: { name: 'Court', note: 'Shade' } },
  },
  patch: {
    note: { summary: 'Another note', value: { note: 'Sun' } },
    'no-note': { summary: 'No note', value: { note: null } },
  },
  import: [
    { id: 2101, name: 'Orchard', note: 'Apples' },
    { id: 2102, name: 'Meadow' },
  ],
};
