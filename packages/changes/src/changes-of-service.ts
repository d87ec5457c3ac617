import { ERRORS } from '@resource-service/framework';
import { Semaphore } from '@resource-service/framework/extension';
import type { RecordedResource } from '@resource-service/framework/extension';
import type { Followers } from './feed/followers.js';

/** Maximum number of clients that follow changes at once. */
const MAX_FOLLOWERS = 2_000;

/** Parts of the pool for the followers that are far behind, of whom there can be thousands, and for those that miss a few. */
const PART = 0.2;

/** Limits and metrics that the changes of all resources of a service share. */
class ChangesOfService {
  readonly followerSlots = new Semaphore(MAX_FOLLOWERS, ERRORS.tooManyFollowers);
  readonly followerReads: Readonly<Record<'far' | 'near', Semaphore>>;
  /** Counts records of a table that were removed because of their age. */
  readonly recordPruned: (table: string, records: number) => void;
  /** Counts changes of a table that were noticed to have no record. */
  readonly recordUnrecorded: (table: string, changes?: number) => void;

  constructor(
    bulkheads: RecordedResource['bulkheads'],
    private readonly metrics: RecordedResource['metrics'],
  ) {
    this.followerReads = {
      far: bulkheads.share(PART, ERRORS.poolExhausted),
      near: bulkheads.share(PART, ERRORS.poolExhausted),
    };
    this.recordPruned = metrics.counter<string>(
      metrics.named('changes_pruned_total'),
      'Records of changes that were removed because of their age.',
      'table',
      [],
    );
    this.recordUnrecorded = metrics.counter<string>(
      metrics.named('changes_unrecorded_total'),
      'Times that this replica has noticed changes without a record.',
      'table',
      [],
    );
  }

  observe({ name: resource }: RecordedResource, followers: Followers): void {
    const gauges = [
      ['followers', 'Clients that follow changes.', 'count'],
      ['lag_seconds', 'Time from the begin of the newest change until followers got it.', 'lag'],
    ] as const;
    for (const [name, help, figure] of gauges) {
      const read = () => followers.use[figure];
      this.metrics.gauge(this.metrics.named(`change_${name}`), help, read, { resource });
    }
  }
}

const services = new WeakMap<RecordedResource['bulkheads'], ChangesOfService>();

export function changesOfService({ bulkheads, metrics }: RecordedResource): ChangesOfService {
  const changes = services.get(bulkheads) ?? new ChangesOfService(bulkheads, metrics);
  services.set(bulkheads, changes);
  return changes;
}
