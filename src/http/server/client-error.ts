import type { ErrorCode } from '../../errors/error-table.js';
import { PlantStoreError } from '../../errors/plant-store.error.js';

/** Node's error codes (Node.js documentation, http, event `clientError`). */
const CLIENT_ERRORS: Partial<Record<string, ErrorCode>> = {
  HPE_HEADER_OVERFLOW: 'headers-too-large',
  HPE_CHUNK_EXTENSIONS_OVERFLOW: 'body-too-large',
  ERR_HTTP_REQUEST_TIMEOUT: 'request-timeout',
};

/** The failure of a request that Node's HTTP server could not parse, or that did not arrive in time. */
export function clientFailure({ code = '' }: NodeJS.ErrnoException): PlantStoreError {
  return new PlantStoreError(CLIENT_ERRORS[code] ?? 'bad-request');
}
