import { variable } from '@resource-service/framework';

/** Besides the variables of the framework. */
export const VARIABLES = {
  NOTICES_URL: variable.url({
    description: 'Where notices of returned tools are sent. Default: nowhere.',
    isOptional: true,
  }),
  NOTICES_TIMEOUT: variable.integer({
    description: 'Milliseconds until a notice is given up.',
    min: 100,
    max: 10_000,
    default: 2_000,
  }),
};
