import type { DataSource } from 'typeorm';
import { pino } from 'pino';
import type { Logger } from 'pino';
import { constant } from '../../src/config/secret-file.js';
import { dataSourceOf, dataSourceOptions } from '../../src/database/data-source.js';
import { FEATURES } from '../../src/features.js';
import { schemaOf } from '../../src/resources/feature.js';
import { Metrics } from '../../src/observability/metrics.js';
import { NO_TRACER } from '../../src/observability/tracer.js';
import { IDENTITY } from '../../src/identity.js';

/** A DataSource as the service has it, not connected yet. */
export function createDataSource(
  url: string,
  { poolMax = 1, logger = pino({ level: 'silent' }) }: { poolMax?: number; logger?: Logger } = {},
): DataSource {
  return dataSourceOf(
    dataSourceOptions({ identity: IDENTITY, url: constant(url), poolMax }, schemaOf(FEATURES), {
      logger,
      metrics: new Metrics(IDENTITY),
      tracer: NO_TRACER,
    }),
  );
}
