import { Injectable } from '@nestjs/common';

/**
 * Whether callers may be sent here: from the applied migrations on until shutdown begins. A database
 * that goes away later does not change it, because all replicas would vanish at once.
 */
@Injectable()
export class Readiness {
  #reason: string | undefined = 'starting';

  /** Why the service is not ready; `undefined` when it is. */
  get reason(): string | undefined {
    return this.#reason;
  }

  ready(): void {
    this.#reason = undefined;
  }

  notReady(reason: string): void {
    this.#reason = reason;
  }
}
