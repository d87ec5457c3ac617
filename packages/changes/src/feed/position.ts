import type { IncomingHttpHeaders } from 'node:http';
import { ERRORS, int64Constraint, ServiceException } from '@resource-service/framework';
import { parseInt64 } from '@resource-service/framework/extension';

/** A position has the bits of an incarnation, and so many that count (docs/decisions/order-of-changes.md). */
const COUNTING = 16n;

/** JavaScript has all integers up to here. */
export const MAX_POSITION = BigInt(Number.MAX_SAFE_INTEGER);

/**
 * What the positions have in common that a server has given between two starts: another server gives others, unless
 * both choose the same of many numbers. After 65,536 changes, a server goes on with the next one.
 */
export function incarnationOf(position: bigint): bigint {
  return position >> COUNTING;
}

/**
 * The position that a client of server-sent events has reached. It sends the field when it comes back by itself (WHATWG
 * HTML, section 9.2.4). A browser sends no empty field, but other clients send one for the empty string that is the id before
 * the first event.
 *
 * @throws ServiceException `parameter-not-valid`
 */
export function lastEventId(headers: IncomingHttpHeaders): bigint | undefined {
  const text = headers['last-event-id'];
  if (text === undefined || text === '') return undefined;
  const position = parseInt64(String(text));
  if (position === undefined) {
    throw new ServiceException(ERRORS.parameterNotValid, int64Constraint('Last-Event-ID'));
  }
  return position;
}

/** Rejects a reader that would miss changes. */
export class MissingChanges extends ServiceException {
  /** @param reason why the reader misses changes: they were removed because of their age, have no record, or another server made them */
  constructor(
    readonly reason: 'pruned' | 'unrecorded' | 'other-server',
    message: string,
  ) {
    super(ERRORS.changesPruned, message);
  }
}

/** The rejection of a reader that does not know all records that were removed because of their age. */
export function pruned(prunedTo: bigint): MissingChanges {
  return new MissingChanges('pruned', `changes up to position ${prunedTo} are no longer kept`);
}

/** The rejection of a reader that would miss a change without a record. */
export function unrecorded(position: bigint): MissingChanges {
  return new MissingChanges(
    'unrecorded',
    `a change up to position ${position} was made without a record, such as by SQL: copy everything again, or go on without it with acceptGap=${position}`,
  );
}

/** The rejection of a position that another server has given. */
export function otherServer(position: bigint): MissingChanges {
  return new MissingChanges(
    'other-server',
    `position ${position} is of another server, which may have lacked changes of this one: copy everything again`,
  );
}
