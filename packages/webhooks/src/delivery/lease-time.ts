import { LEASE } from './webhook-rows.js';

/** One clock is never set, and the other one goes on while the machine is suspended. */
const now = (): readonly number[] => [performance.now(), Date.now()];

/** The time since a statement was sent that begins or renews all leases. */
export class LeaseTime {
  private readonly begin = now();

  /** Milliseconds until another replica can have a lease that this one could not renew. */
  get left(): number {
    const passed = now().map((time, at) => time - this.begin[at]!);
    return LEASE.duration - LEASE.renewal - Math.max(...passed);
  }
}
