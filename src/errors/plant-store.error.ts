import { ERROR_TABLE } from './error-table.js';
import type { ErrorCode } from './error-table.js';

/** A failure with an answer for the client. Its code is independent of HTTP: the error table maps it to the answer. */
export class PlantStoreError extends Error {
  override readonly name = 'PlantStoreError';

  /**
   * @param message shown to the client, so it must not contain SQL, paths or secrets. Default: the message of the table
   * @param options `cause` is logged and never sent to the client
   */
  constructor(
    readonly code: ErrorCode,
    message?: string,
    options?: ErrorOptions,
  ) {
    super(message ?? ERROR_TABLE[code].message, options);
  }
}
