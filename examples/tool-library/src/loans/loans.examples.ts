import type { ResourceExamples } from '@resource-service/framework';

/** Of a loan of a tool, which createTool has stored. */
export const LOAN_EXAMPLES: ResourceExamples = {
  create: {
    'a-loan': {
      summary: 'A loan of a tool, which createTool has stored',
      value: { id: '01920000-0000-7000-8000-000000000001', toolId: 2, borrower: 'Ada' },
    },
  },
};
