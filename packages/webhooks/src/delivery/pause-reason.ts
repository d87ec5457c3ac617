import { ERRORS, ServiceException } from '@resource-service/framework';
import { MissingChanges } from '@resource-service/changes';
import type { PauseReason } from '../webhook.entity.js';

const PAUSE_REASONS = {
  pruned: 'changes-pruned',
  unrecorded: 'changes-unrecorded',
  'other-server': 'position-unknown',
} as const satisfies Record<MissingChanges['reason'], PauseReason>;

/** Why a webhook cannot go on where it is; `undefined` for errors that pass, such as an outage of the database. */
export function pauseReasonOf(error: unknown): PauseReason | undefined {
  if (error instanceof MissingChanges) return PAUSE_REASONS[error.reason];
  const isUnknown = error instanceof ServiceException && error.kind === ERRORS.positionUnknown;
  return isUnknown ? 'position-unknown' : undefined;
}
