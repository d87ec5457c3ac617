import { ERRORS } from './common-errors.js';
import type { ErrorKind } from './error-kind.js';

/** A failure with an answer for the client, independent of HTTP (`src/http/errors/to-answer.ts` makes the answer). */
export class PlantStoreError extends Error {
  override readonly name = 'PlantStoreError';
  readonly kind: ErrorKind;

  /**
   * @param message shown to the client, so it must not contain SQL, paths or secrets. Default: the message of the kind
   * @param options `cause` is logged and never sent to the client
   */
  constructor(kind: ErrorKind | string, message?: string, options?: ErrorOptions) {
    const k =
      typeof kind === 'string' ? Object.values(ERRORS).find(({ code }) => code === kind)! : kind;
    super(message ?? k.message, options);
    this.kind = k;
  }

  get code(): string {
    return this.kind.code;
  }
}
