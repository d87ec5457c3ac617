import { APP_FILTER, APP_GUARD, APP_PIPE } from '@nestjs/core';
import { AuthGuard, DtoPipe, ErrorFilter } from '../../src/index.js';

/** What each application lists in its providers. */
export const ENHANCERS = [
  { provide: APP_GUARD, useClass: AuthGuard },
  { provide: APP_PIPE, useClass: DtoPipe },
  { provide: APP_FILTER, useClass: ErrorFilter },
];
