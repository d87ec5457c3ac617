import { defineErrors } from '@resource-service/framework';

export const GARDEN_ERRORS = defineErrors([20, 29], {
  gardenNotFound: {
    number: 40420,
    message: 'there is no garden with this id',
    remedy: 'Create the garden, or check the id',
  },
  gardenIdTaken: {
    number: 40920,
    message: 'the id belongs to a garden with other content',
    remedy: 'To resolve the conflict, choose another id, or send the content that is stored',
  },
  // #region plants
  gardenHasNoPlant: {
    number: 40421,
    message: 'the garden has no plant',
    remedy: 'Give it a plant',
  },
  gardenPlantNotFound: {
    number: 40921,
    message: 'there is no plant with the id in plantId',
    remedy: 'Create the plant first, or check the id',
  },
  // #endregion
});
