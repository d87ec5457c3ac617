import type { ResourceExamples } from '@resource-service/framework';

/** Requests that succeed in an empty service, in this order. */
export const ROOM_EXAMPLES: ResourceExamples = {
  create: {
    single: {
      summary: 'A single room',
      value: { id: 1, name: 'Attic', kind: 'single', price: '80.00' },
    },
    double: {
      summary: 'A double room',
      value: { id: 2, name: 'Garden view', kind: 'double', price: '120.00' },
    },
  },
  patch: { price: { summary: 'Another price', value: { price: '85.00' } } },
};
