import { Module } from '@nestjs/common';
import type { DynamicModule } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import type { Observability } from '../observability/observability.module.js';
import { dataSourceOptions } from './data-source.js';
import type { DatabaseSettings } from './data-source.js';
import { Statements } from './statements.js';

@Module({})
export class DatabaseModule {
  static forRoot(settings: DatabaseSettings, observability: Observability): DynamicModule {
    return {
      module: DatabaseModule,
      global: true,
      imports: [
        TypeOrmModule.forRoot({
          ...dataSourceOptions(settings, observability),
          // The start connects, see connect(): with a bound, and with the health port open.
          manualInitialization: true,
        }),
      ],
      providers: [Statements],
      exports: [Statements],
    };
  }
}
