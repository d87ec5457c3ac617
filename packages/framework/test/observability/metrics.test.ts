import { expect, it } from 'vitest';
import { Metrics } from '../../src/observability/metrics.js';
import { IDENTITY } from '../support/identity.js';

it('a gauge has a series for each set of labels, and refuses a second one, which would hide the first', async () => {
  const metrics = new Metrics(IDENTITY);
  let depth = 1;
  metrics.gauge('waiting', 'Rows that wait.', () => depth, { resource: 'a' });
  metrics.gauge('waiting', 'Rows that wait.', () => 7, { resource: 'b' });
  depth = 2;
  expect(await metrics.text()).toContain('waiting{resource="a"} 2\nwaiting{resource="b"} 7\n');
  expect(() => metrics.gauge('waiting', 'Rows that wait.', () => 2, { resource: 'a' })).toThrow(
    'waiting has the series {"resource":"a"} already',
  );
});

it('refuses a name that is not valid, or that another metric has', () => {
  const metrics = new Metrics(IDENTITY);
  expect(() => metrics.counter('book ings', 'Bookings.')).toThrow(
    'the metric "book ings": Invalid metric name',
  );
  expect(() => metrics.histogram('bookings', 'Bookings.', [1], 'a b', [])).toThrow(
    'the metric "bookings": Invalid label name',
  );
  metrics.gauge('bookings', 'Bookings.', () => 1);
  expect(() => metrics.counter('bookings', 'Bookings.')).toThrow(
    'the metric "bookings": A metric with the name bookings has already been registered.',
  );
});
