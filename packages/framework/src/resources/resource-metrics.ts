import { Histogram } from 'prom-client';
import type { Metrics } from '../observability/metrics.js';
import type { GroupCreate } from './creates/group-create.js';

export class ResourceMetrics {
  private readonly groupRows: Histogram<'resource'>;

  constructor(private readonly metrics: Metrics) {
    this.groupRows = new Histogram({
      name: metrics.named('creation_group_rows'),
      help: 'Rows in a group that was sent to the database.',
      labelNames: ['resource'],
      buckets: [1, 2, 4, 8, 16, 32, 64, 128, 256, 500],
      registers: [metrics.registry],
    });
  }

  groupsOf(resource: string): (rows: number) => void {
    this.groupRows.zero({ resource });
    return (rows) => this.groupRows.observe({ resource }, rows);
  }

  observeQueue(resource: string, creates: Pick<GroupCreate<never>, 'queue'>): void {
    const gauges = [
      ['', 'Creates that wait for the next group.', 'rows'],
      ['_max', 'Maximum number of creates that may wait.', 'maxRows'],
      ['_characters', 'Characters of the creates that wait.', 'characters'],
      ['_characters_max', 'Maximum number of characters that may wait.', 'maxCharacters'],
    ] as const;
    for (const [name, help, figure] of gauges) {
      const read = () => creates.queue[figure];
      this.metrics.gauge(this.metrics.named(`creations_waiting${name}`), help, read, { resource });
    }
  }
}
