import { Column, Entity, Index, PrimaryColumn } from 'typeorm';
import { TIMESTAMP_COLUMN } from '../properties/timestamp.js';

const KEY = { primaryKeyConstraintName: 'idempotency_keys_pkey' } as const;

/** A performed request, and its response. */
@Index('idempotency_keys_created_at_idx', ['createdAt'])
@Entity('idempotency_keys')
export class IdempotencyKey {
  @PrimaryColumn('text', KEY)
  readonly operation!: string;

  /** Kind and id, separated by a colon. Each principal has its own keys. */
  @PrimaryColumn('text', KEY)
  readonly principal!: string;

  @PrimaryColumn('text', KEY)
  readonly key!: string;

  /** The hash of the content. */
  @Column('text')
  readonly fingerprint!: string;

  /** In JSON. Null within the transaction that performs the request, and after the eviction of the response. */
  @Column('text', { nullable: true })
  readonly answer!: string | null;

  @Column({ ...TIMESTAMP_COLUMN, name: 'created_at', default: () => 'now()' })
  readonly createdAt!: Date;
}
