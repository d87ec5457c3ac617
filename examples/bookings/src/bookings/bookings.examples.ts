import type { ResourceExamples } from '@resource-service/framework';

/** Requests that succeed after the examples of rooms, in this order. */
export const BOOKING_EXAMPLES: ResourceExamples = {
  create: {
    'with-note': {
      summary: 'Two nights, with a note',
      value: {
        id: 1,
        roomId: 2,
        startsOn: '2026-07-01',
        nights: 2,
        note: 'Arrives late',
        status: 'booked',
        price: '120.00',
        owner: 'ada',
      },
    },
    'without-note': {
      summary: 'The night after them',
      value: {
        id: 2,
        roomId: 2,
        startsOn: '2026-07-03',
        nights: 1,
        status: 'booked',
        price: '120.00',
        owner: 'ada',
      },
    },
  },
  patch: {
    nights: { summary: 'A night less', value: { nights: 1 } },
    'no-note': { summary: 'No note', value: { note: null } },
  },
};
