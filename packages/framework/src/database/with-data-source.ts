import type { DataSource } from 'typeorm';
import { NO_TRACER } from '../observability/tracer.js';
import { connect } from './connect.js';
import type { StartWait } from './connect.js';
import { dataSourceOf, dataSourceOptions } from './data-source.js';
import type { DatabaseSchema, DatabaseSettings } from './data-source.js';

/** For commands, which have no traces. */
export async function withDataSource<Result>(
  settings: Omit<DatabaseSettings, 'logger' | 'tracer'>,
  schema: DatabaseSchema,
  waiting: StartWait,
  use: (dataSource: DataSource) => Promise<Result>,
): Promise<Result> {
  const ofCommand = { ...settings, logger: waiting.log, tracer: NO_TRACER };
  const dataSource = dataSourceOf(dataSourceOptions(ofCommand, schema));
  try {
    await connect(dataSource, waiting);
    return await use(dataSource);
  } finally {
    if (dataSource.isInitialized) await dataSource.destroy();
  }
}
