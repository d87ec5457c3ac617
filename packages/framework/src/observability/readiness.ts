import { Injectable } from '@nestjs/common';

/**
 * Whether the service is ready for requests: after the migrations and until the shutdown. An outage of the database does not
 * count, because all replicas would become unready at once. A standby for longer than a failover takes does, because the
 * address is wrong.
 */
@Injectable()
export class Readiness {
  private notReadyReason: string | undefined = 'starting';
  private readonly checks: (() => string | undefined)[] = [];

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
