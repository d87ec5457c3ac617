import { Injectable } from '@nestjs/common';

/**
 * Whether callers may be sent here: from the applied migrations on until shutdown begins. A database
 * that goes away later does not change it, because all replicas would vanish at once.
 */
@Injectable()
export class Readiness {
  private obstacle: string | undefined = 'starting';
  private check: () => string | undefined = () => undefined;

  /** Why the service is not ready; `undefined` when it is. */
  get reason(): string | undefined {
    return this.obstacle ?? this.check();
  }

  ready(): void {
    this.obstacle = undefined;
  }

  notReady(reason: string): void {
    this.obstacle = reason;
  }

  /** Has a service that is ready stay so only while the check gives no reason against it. */
  require(check: () => string | undefined): void {
    this.check = check;
  }
}
