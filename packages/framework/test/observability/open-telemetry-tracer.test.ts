import { diag } from '@opentelemetry/api';
import { expect, it } from 'vitest';
import { createLogger } from '../../src/observability/logger.js';
import { OpenTelemetryTracer } from '../../src/observability/open-telemetry-tracer.js';
import { IDENTITY } from '../support/identity.js';

it.each([
  ['a sentence', 'the queue is full', 'the queue is full'],
  ['an error', { message: 'connect ECONNREFUSED', stack: 'Error: …' }, 'connect ECONNREFUSED'],
  ['errors of two addresses', { message: '', errors: 'two', code: 'ECONNREFUSED' }, 'two'],
  ['an error without a message', { message: '', code: 'ECONNREFUSED' }, 'ECONNREFUSED'],
  ['an error with nothing but a name', { name: 'AggregateError' }, 'AggregateError'],
  ['nothing', {}, 'unknown'],
])('the log says why traces were lost, without a stack: %s', async (_, reported, reason) => {
  const lines: string[] = [];
  const log = createLogger('warn', { write: (line) => void lines.push(line) });
  const tracer = new OpenTelemetryTracer(IDENTITY, log);
  diag.error(typeof reported === 'string' ? reported : JSON.stringify(reported));
  await tracer.stop();
  expect(lines.map((line) => JSON.parse(line) as unknown)).toMatchObject([
    { msg: 'traces were lost', reason },
  ]);
});
