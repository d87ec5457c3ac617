import { Injectable } from '@nestjs/common';

/**
 * Whether the service is ready for requests: after the migrations and until the shutdown. An outage of the database does
 * not make it unready, because all replicas would become unready at once. A database address that leads to a standby
 * for longer than a failover takes does, because it is a wrong configuration.
 */
@Injectable()
export class Readiness {
  private notReadyReason: string | undefined = 'starting';
  private readonly checks: (() => string | undefined)[] = [];

  /** Why the service is not ready, or `undefined`. */
  get reason(): string | undefined {
    return (
      this.notReadyReason ??
      this.checks.map((check) => check()).find((reason) => reason !== undefined)
    );
  }

  ready(): void {
    this.notReadyReason = undefined;
  }

  notReady(reason: string): void {
    this.notReadyReason = reason;
  }

  /** Makes the service unready for as long as the check returns a reason. */
  addCheck(check: () => string | undefined): void {
    this.checks.push(check);
  }
}
