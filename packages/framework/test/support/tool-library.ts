import { Module } from '@nestjs/common';
import type { DataSource } from 'typeorm';
import { schemaOf } from '../../src/app/detached-app.js';
import { FrameworkModule } from '../../src/app/framework.module.js';
import { dataSourceFor } from './data-source.js';
import type { DataSourceSettings } from './data-source.js';
import { ENHANCERS } from './enhancers.js';
import { IDENTITY } from './identity.js';

/** A service without resources. */
@Module({ imports: [FrameworkModule.forRoot(IDENTITY)], providers: ENHANCERS })
export class AppModule {}

const service = { identity: IDENTITY, schema: await schemaOf(AppModule) };

/** A DataSource as this service has it, not connected yet. */
export function createDataSource(url: string, settings?: DataSourceSettings): DataSource {
  return dataSourceFor(service, url, settings);
}
