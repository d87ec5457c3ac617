import { describe, expect, it } from 'vitest';
import { Metrics } from '../../src/observability/metrics.js';

describe('a gauge', () => {
  it('has a series for each set of labels, with the value at the scrape', async () => {
    const metrics = new Metrics();
    let depth = 1;
    metrics.gauge('waiting', 'Rows that wait.', () => depth, { resource: 'a' });
    metrics.gauge('waiting', 'Rows that wait.', () => 7, { resource: 'b' });
    depth = 2;
    const text = await metrics.text();
    expect(text).toContain('waiting{resource="a"} 2\nwaiting{resource="b"} 7\n');
  });

  it('refuses a second series with equal labels, which would hide the first', () => {
    const metrics = new Metrics();
    metrics.gauge('waiting', 'Rows that wait.', () => 1, { resource: 'a' });
    expect(() => metrics.gauge('waiting', 'Rows that wait.', () => 2, { resource: 'a' })).toThrow(
      'waiting has the series {"resource":"a"} already',
    );
  });
});
