import type { ResourceExamples } from '@resource-service/framework';

/** Requests that succeed in this order. One id is above 2^53: it shows which tools round. */
export const PLANT_EXAMPLES: ResourceExamples = {
  create: {
    'a-plant': {
      summary: 'A plant with a tag',
      value: { id: 1001, name: 'Monstera', tag: 'indoor' },
    },
    'any-text': {
      summary: 'Text of any script comes back as it was',
      value: { id: 1002, name: 'Κάκτος “Königin der Nacht”', tag: "l'épiphyte" },
    },
    'long-id': {
      summary: 'An id that many JSON parsers round: 2^53 + 1',
      value: { id: 9007199254740993n, name: 'Welwitschia', tag: 'desert' },
    },
    'without-tag': { summary: 'A plant without a tag', value: { id: 1003, name: 'Ficus' } },
  },
  replace: {
    'with-tag': { summary: 'A new name and a tag', value: { name: 'Weeping fig', tag: 'indoor' } },
    'without-tag': { summary: 'Without a tag', value: { name: 'Ficus' } },
  },
  patch: {
    tag: { summary: 'Another tag', value: { tag: 'balcony' } },
    'no-tag': { summary: 'No tag', value: { tag: null } },
  },
  import: [
    { id: 1101, name: 'Aloe', tag: 'indoor' },
    { id: 1102, name: 'Lavender' },
  ],
};
