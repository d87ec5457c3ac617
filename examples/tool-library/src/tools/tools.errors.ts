import { defineErrors } from '@resource-service/framework';

export const TOOL_ERRORS = defineErrors([20, 29], {
  toolNotFound: {
    number: 40420,
    message: 'there is no tool with this id',
    remedy: 'Create the tool, or check the id',
  },
  toolToRemoveOnLoan: {
    number: 40920,
    message: 'a tool on loan cannot be removed',
    remedy: 'End the loan first',
  },
});
