import { Module } from '@nestjs/common';
import type { DynamicModule, Type } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import type { DatabaseSchema } from '../database/data-source.js';
import { SchemaModule } from '../database/schema.module.js';
import { isGenerated, keyColumnOf } from './properties/dto-of.js';
import { UuidV7Module } from './generated-ids/uuid-v7.module.js';
import { IdempotencyModule } from './idempotency/idempotency.module.js';
import { UUID_COLUMN } from './properties/uuid.js';

@Module({})
export class ResourceModule {
  /**
   * Adds the tables of a resource to the database of the service, and TypeORM's repositories of the entities to the module
   * that imports this.
   */
  static forFeature(
    entities: readonly Type[],
    schema: Omit<DatabaseSchema, 'entities'>,
  ): DynamicModule {
    const keys = entities.flatMap((entity) => keyColumnOf(entity) ?? []);
    return {
      module: ResourceModule,
      imports: [
        SchemaModule.forFeature({ ...schema, entities }),
        TypeOrmModule.forFeature([...entities]),
        ...(keys.some(isGenerated) ? [IdempotencyModule] : []),
        ...(keys.some(({ options }) => options.default === UUID_COLUMN.default)
          ? [UuidV7Module]
          : []),
      ],
      exports: [TypeOrmModule, ...(keys.some(isGenerated) ? [IdempotencyModule] : [])],
    };
  }
}
