import { Module } from '@nestjs/common';
import type { DynamicModule } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { Database } from './database.js';
import { dataSourceOptions } from './data-source.js';
import type { DatabaseSettings } from './data-source.js';

@Module({})
export class DatabaseModule {
  static forRoot(settings: DatabaseSettings): DynamicModule {
    return {
      module: DatabaseModule,
      global: true,
      imports: [
        TypeOrmModule.forRoot({
          ...dataSourceOptions(settings),
          // The start connects, see connect(): with a bound, and with the health port open.
          manualInitialization: true,
        }),
      ],
      providers: [Database],
      exports: [Database],
    };
  }
}
