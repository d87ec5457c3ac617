import { pino } from 'pino';
import type { Logger } from 'pino';
import type { DataSource } from 'typeorm';
import type { Identity } from '../../src/config/identity.js';
import { constant } from '../../src/config/secret-file.js';
import { dataSourceOf, dataSourceOptions } from '../../src/database/data-source.js';
import type { DatabaseSchema } from '../../src/database/data-source.js';
import { NO_TRACER } from '../../src/observability/tracer.js';

export interface DataSourceSettings {
  /** Of the tables. */
  readonly schema?: string;
  readonly poolMax?: number;
  readonly logger?: Logger;
}

/** A DataSource as a service has it, not connected yet. */
export function dataSourceFor(
  service: { readonly identity: Identity; readonly schema: DatabaseSchema },
  url: string,
  { poolMax = 1, logger = pino({ level: 'silent' }), schema }: DataSourceSettings = {},
): DataSource {
  const { identity } = service;
  const settings = { identity, url: constant(url), schema, poolMax, logger, tracer: NO_TRACER };
  return dataSourceOf(dataSourceOptions(settings, service.schema));
}
