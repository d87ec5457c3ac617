import { SERVICE_RANGE, defineErrors } from '@resource-service/framework';

export const PLANT_ERRORS = defineErrors(SERVICE_RANGE, {
  idTaken: {
    number: 40009,
    message: 'the id belongs to a plant with other content',
    remedy: 'To resolve the conflict, choose another id, or send the content that is stored',
  },
  noSuchPlant: {
    number: 40401,
    message: 'there is no plant with this id',
    remedy: 'Create the plant, or check the id',
  },
});
