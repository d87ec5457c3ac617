import { ERRORS } from '../../errors/common-errors.js';
import type { ErrorKind } from '../../errors/error-kind.js';
import { PlantStoreError } from '../../errors/plant-store.error.js';

/** Node's error codes (Node.js documentation, http, event `clientError`). */
const CLIENT_ERRORS: Partial<Record<string, ErrorKind>> = {
  HPE_HEADER_OVERFLOW: ERRORS.headersTooLarge,
  HPE_CHUNK_EXTENSIONS_OVERFLOW: ERRORS.bodyTooLarge,
  ERR_HTTP_REQUEST_TIMEOUT: ERRORS.requestTimeout,
};

/** The failure of a request that Node's HTTP server could not parse, or that did not arrive in time. */
export function clientFailure({ code = '' }: NodeJS.ErrnoException): PlantStoreError {
  return new PlantStoreError(CLIENT_ERRORS[code] ?? ERRORS.badRequest);
}
