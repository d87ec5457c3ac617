import { DatabaseError } from 'pg';
import type { Logger } from 'pino';
import { ERRORS } from '../../errors/common-errors.js';
import { PlantStoreError } from '../../errors/plant-store.error.js';
import {
  isDisconnection,
  isEndedByServer,
  isOutage,
  isReadOnly,
  RefusedStatementError,
} from '../database-failure.js';
import type { Outage } from './outage.js';
import type { PoolClient } from './pool-client.js';
import { Refusals } from './refusals.js';

/** The operation of which a failure to connect is a refusal. */
const NEW_CONNECTIONS = 'new connections';

export interface FailuresOptions {
  readonly logger: Logger;
  readonly outage: Outage;
  /** Whether another host can be the primary. */
  readonly hasSeveralHosts: boolean;
  /** Whether the pool has a connection with a session. */
  readonly isConnected: () => boolean;
}

/** Decides what a failure of the pool means: an outage, an operation that the database refuses, or a wrong statement. */
export class Failures {
  private readonly refusals: Refusals;

  constructor(private readonly options: FailuresOptions) {
    this.refusals = new Refusals(options.logger);
  }

  /** A statement of the operation has succeeded. */
  noteSuccess(operation: string): void {
    this.refusals.noteSuccess(operation);
  }

  /** A new connection is ready. */
  noteConnection(): void {
    this.refusals.noteSuccess(NEW_CONNECTIONS);
  }

  /**
   * @param hasTimedOut whether the connection was waited for until the timeout
   * @returns what the request fails with
   */
  ofConnection(failure: Error, hasTimedOut: boolean): Error {
    // If other connections work, a refused connection is not an outage.
    this.note(NEW_CONNECTIONS, failure, hasTimedOut);
    return new PlantStoreError(ERRORS.databaseUnavailable);
  }

  /** @returns what the request fails with: the error itself if the statement has caused it */
  ofStatement(client: PoolClient, operation: string, error: unknown): unknown {
    if (!isOutage(error)) return error;
    // A new connection may lead to the new primary. This connection would stay with the standby.
    if (isReadOnly(error)) void client.end();
    if (!isEndedByServer(error)) this.note(operation, error, false);
    return error instanceof DatabaseError
      ? new RefusedStatementError(error.code)
      : new PlantStoreError(ERRORS.databaseUnavailable);
  }

  /** @param isKnown whether the failure is an outage for sure */
  private note(operation: string, failure: Error, isKnown: boolean): void {
    const { outage, hasSeveralHosts, isConnected } = this.options;
    const isGone = isDisconnection(failure) || !isConnected();
    if (!isGone) this.refusals.noteRefusal(operation, failure);
    // Another host can be the primary now.
    const hasMoved = isReadOnly(failure) && hasSeveralHosts;
    if (isGone || hasMoved) outage.suspect(failure, isKnown);
  }
}
