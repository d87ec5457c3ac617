import type { DataSource } from 'typeorm';
import { Metrics } from '../observability/metrics.js';
import { NO_TRACER } from '../observability/tracer.js';
import { connect } from './connect.js';
import type { StartWait } from './connect.js';
import { dataSourceOf, dataSourceOptions } from './data-source.js';
import type { DatabaseSchema, DatabaseSettings } from './data-source.js';

/** For commands, which have neither metrics nor traces. */
export async function withDataSource<Result>(
  settings: DatabaseSettings,
  schema: DatabaseSchema,
  waiting: StartWait,
  use: (dataSource: DataSource) => Promise<Result>,
): Promise<Result> {
  const metrics = new Metrics(settings.identity);
  const observability = { logger: waiting.log, metrics, tracer: NO_TRACER };
  const dataSource = dataSourceOf(dataSourceOptions(settings, schema, observability));
  try {
    await connect(dataSource, waiting);
    return await use(dataSource);
  } finally {
    if (dataSource.isInitialized) await dataSource.destroy();
  }
}
