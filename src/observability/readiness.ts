import { Injectable } from '@nestjs/common';

/**
 * Whether callers may be sent here: from the applied migrations on until shutdown begins. A database
 * that goes away later does not change it, because all replicas would vanish at once; an address that leads to a
 * standby for longer than a failover takes does, because it is wrong.
 */
@Injectable()
export class Readiness {
  private obstacle: string | undefined = 'starting';
  private readonly checks: (() => string | undefined)[] = [];

  /** Why the service is not ready; `undefined` when it is. */
  get reason(): string | undefined {
    if (this.obstacle !== undefined) return this.obstacle;
    for (const check of this.checks) {
      const reason = check();
      if (reason !== undefined) return reason;
    }
    return undefined;
  }

  ready(): void {
    this.obstacle = undefined;
  }

  notReady(reason: string): void {
    this.obstacle = reason;
  }

  /** Makes a service unready for as long as the check gives a reason. */
  addCheck(check: () => string | undefined): void {
    this.checks.push(check);
  }
}
