import { INT64_COLUMN } from '@resource-service/framework';
import { Column, Entity, PrimaryColumn } from 'typeorm';

/** A letter to a guest, which the printer of the house fetches from the table. */
@Entity('confirmations')
export class Confirmation {
  /** The position of the change that it confirms. */
  @PrimaryColumn({ ...INT64_COLUMN, primaryKeyConstraintName: 'confirmations_pkey' })
  readonly id!: bigint;

  @Column({ ...INT64_COLUMN, name: 'booking_id' })
  readonly bookingId!: bigint;

  @Column('text')
  readonly text!: string;
}
