import { Column, Entity, Index, PrimaryColumn } from 'typeorm';
import { TIMESTAMP_COLUMN } from '../properties/timestamp.js';

const KEY = { primaryKeyConstraintName: 'idempotency_keys_pkey' } as const;

/** A request that was performed, and its answer. */
@Index('idempotency_keys_created_at_idx', ['createdAt'])
@Entity('idempotency_keys')
export class IdempotencyKey {
  @PrimaryColumn('text', KEY)
  readonly operation!: string;

  /** Kind and id, separated by a colon: two clients may choose the same key. */
  @PrimaryColumn('text', KEY)
  readonly principal!: string;

  @PrimaryColumn('text', KEY)
  readonly key!: string;

  /** The hash of what was requested. */
  @Column('text')
  readonly fingerprint!: string;

  /** In JSON. Null within the transaction that performs the request, and when the answer was forgotten. */
  @Column('text', { nullable: true })
  readonly answer!: string | null;

  @Column({ ...TIMESTAMP_COLUMN, name: 'created_at', default: () => 'now()' })
  readonly createdAt!: Date;
}
