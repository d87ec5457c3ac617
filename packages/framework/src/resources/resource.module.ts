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
  /** Adds the tables of a resource to the service's database, and TypeORM's repositories of the entities to the importing module. */
  static forFeature(
    entities: readonly Type[],
    schema: Omit<DatabaseSchema, 'entities'>,
  ): DynamicModule {
    const keys = entities.flatMap((entity) => keyColumnOf(entity) ?? []);
    const isUuid = keys.some(({ options }) => options.default === UUID_COLUMN.default);
    const idempotency = keys.some(isGenerated) ? [IdempotencyModule] : [];
    return {
      module: ResourceModule,
      imports: [
        SchemaModule.forFeature({ ...schema, entities }),
        TypeOrmModule.forFeature([...entities]),
        ...idempotency,
        ...(isUuid ? [UuidV7Module] : []),
      ],
      exports: [TypeOrmModule, ...idempotency],
    };
  }
}
