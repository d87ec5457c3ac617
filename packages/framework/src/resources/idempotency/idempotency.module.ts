import { Module } from '@nestjs/common';
import { SchemaModule } from '../../database/schema.module.js';
import { Idempotency } from './idempotency.js';
import { IdempotencyKey } from './idempotency-key.entity.js';
import { CreateIdempotencyKeys1795651200000 } from './migrations/1795651200000-create-idempotency-keys.js';

/**
 * {@link Idempotency} and its table, for a service whose clients choose all ids. A resource with ids of the database brings it.
 *
 * @example imports: [IdempotencyModule],
 */
@Module({
  imports: [
    SchemaModule.forFeature({
      entities: [IdempotencyKey],
      migrations: [CreateIdempotencyKeys1795651200000],
    }),
  ],
  providers: [Idempotency],
  exports: [Idempotency],
})
export class IdempotencyModule {}
