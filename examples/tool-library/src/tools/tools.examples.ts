import type { ResourceExamples } from '@resource-service/framework';

/** Requests that succeed in an empty service, in this order. */
export const TOOL_EXAMPLES: ResourceExamples = {
  create: {
    'with-note': {
      summary: 'A tool with a note',
      value: { id: 1, name: 'Hammer', note: '500 g', condition: 'good' },
    },
    'without-note': {
      summary: 'A tool without a note',
      value: { id: 2, name: 'Saw', condition: 'worn' },
    },
  },
  patch: {
    name: { summary: 'Another name and note', value: { name: 'Axe', note: '1 kg' } },
    broken: { summary: 'A broken tool', value: { condition: 'broken' } },
    'no-note': { summary: 'No note', value: { note: null } },
  },
};
