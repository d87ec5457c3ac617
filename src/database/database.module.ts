import { Global, Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import type { ServiceConfig } from '../config/config.js';
import { CONFIG } from '../config/config.module.js';
import { Database } from './database.js';
import { dataSourceOptions } from './data-source.js';

@Global()
@Module({
  imports: [
    TypeOrmModule.forRootAsync({
      inject: [CONFIG],
      // The start connects, see connect(): with a bound, and with the health port open.
      useFactory: ({ database }: ServiceConfig) => ({
        ...dataSourceOptions(database),
        manualInitialization: true,
      }),
    }),
  ],
  providers: [Database],
  exports: [Database],
})
export class DatabaseModule {}
