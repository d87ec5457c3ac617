import { Exclude } from 'class-transformer';
import {
  Column,
  DeleteDateColumn,
  Entity,
  Exclusion,
  Index,
  JoinColumn,
  ManyToOne,
  PrimaryGeneratedColumn,
} from 'typeorm';
import {
  DateField,
  DecimalField,
  EnumField,
  INT64_COLUMN,
  Int64Field,
  IntegerField,
  ServiceManaged,
  Sortable,
  TextField,
  TIMESTAMP_COLUMN,
} from '@resource-service/framework';
import type { Defaulted, Filled, Lasting, Managed } from '@resource-service/framework';
import { Room } from '../rooms/room.entity.js';

const ID_COLUMN = { ...INT64_COLUMN, primaryKeyConstraintName: 'bookings_pkey' } as const;

const STATUSES = ['booked', 'completed'] as const;

/** Each room has integers of its own for its nights, 2^22 of them, so that one range stands for the room and the nights. */
const FIRST_NIGHT = `room_id * 4194304 + (starts_on - DATE '0001-01-01')`;

/** A booking of a room for some nights, which no other booking of the room has, unless it was removed. */
@Exclusion(
  'bookings_nights_excl',
  `USING gist (int8range(${FIRST_NIGHT}, ${FIRST_NIGHT} + nights) WITH &&) WHERE (removed_at IS NULL)`,
)
@Index('bookings_owner_id_idx', ['owner', 'id'])
@Index('bookings_room_id_id_idx', ['roomId', 'id'])
@Index('bookings_status_id_idx', ['status', 'id'])
@Entity('bookings')
export class Booking {
  @PrimaryGeneratedColumn('identity', ID_COLUMN)
  @Int64Field({ description: 'The number of the booking.', example: 7 })
  readonly id!: Filled<bigint>;

  @Column({ ...INT64_COLUMN, name: 'room_id', update: false })
  @Int64Field({ description: 'The number of the room. It never changes.', example: 1 })
  readonly roomId!: Lasting<bigint>;

  @ManyToOne(() => Room)
  @JoinColumn({ name: 'room_id', foreignKeyConstraintName: 'bookings_room_id_fkey' })
  readonly room?: Room;

  @Sortable()
  @DateField({
    description: 'The day of the arrival.',
    example: '2026-07-01',
    column: { name: 'starts_on' },
  })
  readonly startsOn!: string;

  @Column('integer')
  @IntegerField({ description: 'How many nights.', example: 2, minimum: 1, maximum: 30 })
  readonly nights!: number;

  @Column('text', { nullable: true })
  @TextField({
    description: 'What the house should know.',
    example: 'Arrives late',
    maxLength: 500,
    isOptional: true,
  })
  readonly note!: string | null;

  @ServiceManaged()
  @EnumField(STATUSES, { description: 'Completed: the last night is over.', default: 'booked' })
  readonly status!: Managed<Defaulted<(typeof STATUSES)[number]>>;

  @ServiceManaged()
  @DecimalField({
    description: 'What a night costs: the price of the room when it was booked.',
    example: '80.00',
    precision: 8,
    scale: 2,
  })
  readonly price!: Managed<string>;

  @ServiceManaged()
  @Column('text')
  @TextField({ description: 'Who has booked it.', example: 'ada' })
  readonly owner!: Managed<string>;

  @DeleteDateColumn({ ...TIMESTAMP_COLUMN, name: 'removed_at' })
  @Exclude()
  readonly removedAt!: Date | null;
}
