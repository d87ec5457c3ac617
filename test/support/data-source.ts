import { DataSource } from 'typeorm';
import { pino } from 'pino';
import type { Logger } from 'pino';
// The service has the entities of all features.
// oxlint-disable-next-line import/no-unassigned-import
import '../../src/app.module.js';
import { dataSourceOptions } from '../../src/database/data-source.js';
import { Metrics } from '../../src/observability/metrics.js';
import { NO_TRACER } from '../../src/observability/tracer.js';

/** A DataSource as the service has it, not connected yet. */
export function createDataSource(
  url: string,
  { poolMax = 1, logger = pino({ level: 'silent' }) }: { poolMax?: number; logger?: Logger } = {},
): DataSource {
  return new DataSource(
    dataSourceOptions({ url, poolMax }, { logger, metrics: new Metrics(), tracer: NO_TRACER }),
  );
}
