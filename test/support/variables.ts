import { VARIABLES } from '../../packages/framework/src/config/variables.js';
import { WEBHOOK_VARIABLES } from '../../packages/webhooks/src/variables.js';

/** Of all variables, with those that name files. */
export const VARIABLE_NAMES: readonly string[] = Object.entries({
  ...VARIABLES,
  ...WEBHOOK_VARIABLES,
}).flatMap(([name, variable]) => ('file' in variable ? [name, `${name}_FILE`] : [name]));
