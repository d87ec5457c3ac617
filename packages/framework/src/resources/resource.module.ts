import { Module } from '@nestjs/common';
import type { DynamicModule, Type } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import type { DatabaseSchema } from '../database/data-source.js';
import { SchemaModule, schemaPart } from '../database/schema.module.js';
import { isGenerated, keyColumnOf } from './properties/dto-of.js';
import { CreateUuidV71795651201000 } from './generated-ids/migrations/1795651201000-create-uuid-v7.js';
import { IdempotencyModule } from './idempotency/idempotency.module.js';
import { UUID_COLUMN } from './properties/uuid.js';

const UUID_V7 = SchemaModule.forFeature({
  entities: [],
  migrations: [CreateUuidV71795651201000],
  functions: ['uuid_v7()'],
});

interface ResourceOptions extends Omit<DatabaseSchema, 'entities' | 'owners'> {
  /** Whether an operation takes an `Idempotency-Key`, by default if the database makes ids: then responses are kept. */
  readonly idempotency?: boolean;
}

/** The tables of a resource. */
@Module({})
export class ResourceModule {
  /**
   * Adds the tables of a resource to the service's database, and TypeORM's repositories of the entities to the importing module.
   *
   * @example imports: [ResourceModule.forFeature([Tool], { migrations: [CreateTools1795722647309] })],
   */
  static forFeature(
    entities: readonly Type[],
    { idempotency: isIdempotent, ...schema }: ResourceOptions,
  ): DynamicModule {
    const keys = entities.flatMap((entity) => keyColumnOf(entity) ?? []);
    const isUuid = keys.some(({ options }) => options.default === UUID_COLUMN.default);
    const idempotency = (isIdempotent ?? keys.some(isGenerated)) ? [IdempotencyModule] : [];
    return {
      module: ResourceModule,
      imports: [
        TypeOrmModule.forFeature([...entities]),
        ...idempotency,
        ...(isUuid ? [UUID_V7] : []),
      ],
      providers: [schemaPart({ ...schema, entities })],
      exports: [TypeOrmModule, ...idempotency],
    };
  }
}
