import type { DataSource } from 'typeorm';
import { AppModule } from '../../src/app.module.js';
import { IDENTITY } from '../../src/identity.js';
import { schemaOf } from '../../packages/framework/src/app/detached-app.js';
import { dataSourceFor } from '../../packages/framework/test/support/data-source.js';
import type { DataSourceSettings } from '../../packages/framework/test/support/data-source.js';

export const SCHEMA = await schemaOf(AppModule);

/** A DataSource as the service has it, not connected yet. */
export function createDataSource(url: string, settings?: DataSourceSettings): DataSource {
  return dataSourceFor({ identity: IDENTITY, schema: SCHEMA }, url, settings);
}
