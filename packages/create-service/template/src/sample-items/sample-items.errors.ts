import { defineErrors } from '@resource-service/framework';

export const SAMPLE_ITEM_ERRORS = defineErrors([20, 29], {
  sampleItemNotFound: {
    number: 40420,
    message: 'there is no sample item with this id',
    remedy: 'Create the sample item, or check the id',
  },
});
