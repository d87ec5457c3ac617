import { Column, Entity, Index, PrimaryGeneratedColumn } from 'typeorm';
import {
  DecimalField,
  EnumField,
  INT64_COLUMN,
  Int64Field,
  TextField,
} from '@resource-service/framework';
import type { Filled } from '@resource-service/framework';

const ID_COLUMN = { ...INT64_COLUMN, primaryKeyConstraintName: 'rooms_pkey' } as const;

const KINDS = ['single', 'double', 'suite'] as const;

/** A room: the columns of the table, and the constraints and schemas of the properties, from which the DTOs are made. */
@Index('rooms_kind_id_idx', ['kind', 'id'])
@Entity('rooms')
export class Room {
  @PrimaryGeneratedColumn('identity', ID_COLUMN)
  @Int64Field({ description: 'The number of the room.', example: 7 })
  readonly id!: Filled<bigint>;

  @Column('text')
  @TextField({
    description: 'The name of the room.',
    example: 'Garden view',
    minLength: 1,
    maxLength: 100,
  })
  readonly name!: string;

  @EnumField(KINDS, { description: 'How many sleep in it.', example: 'double' })
  readonly kind!: (typeof KINDS)[number];

  @DecimalField({
    description: 'What a night costs.',
    example: '120.00',
    precision: 8,
    scale: 2,
    minimum: '0',
  })
  readonly price!: string;
}
