import { Module } from '@nestjs/common';
import type { DynamicModule, Type } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import type { DatabaseSchema } from '../database/data-source.js';
import { SchemaModule } from '../database/schema.module.js';

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
    return {
      module: ResourceModule,
      imports: [
        SchemaModule.forFeature({ ...schema, entities }),
        TypeOrmModule.forFeature([...entities]),
      ],
      exports: [TypeOrmModule],
    };
  }
}
