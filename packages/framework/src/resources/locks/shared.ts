import type { Logger } from 'pino';
import type { Bulkheads } from '../../database/bulkheads.js';
import type { Statements } from '../../database/statements.js';
import type { Transactions } from '../../database/transactions.js';
import type { Tracer } from '../../observability/tracer.js';
import type { RowSlots } from './row-slots.js';
import type { RowErrors } from '../properties/constraints.js';
import type { ChangeRecorder } from '../recording/change-recorder.js';

export interface Shared extends RowErrors {
  readonly statements: Statements;
  readonly bulkheads: Bulkheads;
  readonly transactions: Transactions;
  readonly rowSlots: RowSlots;
  readonly tracer: Tracer;
  readonly logger: Logger;
  readonly recorder: ChangeRecorder | undefined;
}
