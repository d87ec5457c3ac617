import { Module } from '@nestjs/common';
import { SchemaModule } from '../../database/schema.module.js';
import { CreateUuidV71795651201000 } from './migrations/1795651201000-create-uuid-v7.js';

/** Adds the function that generates the ids of entities with `UUID_COLUMN`. */
@Module({
  imports: [
    SchemaModule.forFeature({
      entities: [],
      migrations: [CreateUuidV71795651201000],
      functions: ['uuid_v7()'],
    }),
  ],
})
export class UuidV7Module {}
