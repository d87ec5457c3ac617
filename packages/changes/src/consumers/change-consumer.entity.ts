import { Column, Entity, PrimaryColumn } from 'typeorm';
import { INT64_COLUMN, TIMESTAMP_COLUMN } from '@resource-service/framework';

/** How far a consumer has come, and which replica it runs in. */
@Entity('change_consumers')
export class ChangeConsumer {
  @PrimaryColumn('text', { primaryKeyConstraintName: 'change_consumers_pkey' })
  readonly name!: string;

  /** Of the last change that was handled, which tells the incarnation, too. Null: it begins anew. */
  @Column({ ...INT64_COLUMN, nullable: true })
  readonly position!: bigint | null;

  /** The replica; null after its shutdown. */
  @Column('text', { nullable: true })
  readonly holder!: string | null;

  /** Afterwards, another replica may take over. */
  @Column({ ...TIMESTAMP_COLUMN, name: 'leased_until', nullable: true })
  readonly leasedUntil!: Date | null;
}
