import { ERROR_TABLE } from './error-table.js';
import type { ErrorCode } from './error-table.js';

/**
 * A failure with a meaning for the caller. It carries a code and knows nothing of HTTP; the error
 * table says how the code leaves the service.
 */
export class PlantStoreError extends Error {
  override readonly name = 'PlantStoreError';

  /**
   * @param message shown to the caller, so free of SQL, paths and secrets; by default the table's
   * @param options `cause` is logged and never shown
   */
  constructor(
    readonly code: ErrorCode,
    message?: string,
    options?: ErrorOptions,
  ) {
    super(message ?? ERROR_TABLE[code].message, options);
  }
}
