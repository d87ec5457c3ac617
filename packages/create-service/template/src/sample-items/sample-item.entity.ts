import { Column, Entity, PrimaryGeneratedColumn } from 'typeorm';
import { INT64_COLUMN, Int64Field, TextField } from '@resource-service/framework';
import type { Filled } from '@resource-service/framework';

const ID_COLUMN = { ...INT64_COLUMN, primaryKeyConstraintName: 'sample_items_pkey' } as const;

/** A sample item: the columns of the table, and the constraints and schemas of the properties, from which the DTOs are made. */
@Entity('sample_items')
export class SampleItem {
  @PrimaryGeneratedColumn('identity', ID_COLUMN)
  @Int64Field({ description: 'The number of the sample item.', example: 7 })
  readonly id!: Filled<bigint>;

  @Column('text')
  @TextField({
    description: 'The name of the sample item.',
    example: 'First',
    minLength: 1,
    maxLength: 200,
  })
  readonly name!: string;

  @Column('text', { nullable: true })
  @TextField({ description: 'Whatever there is to know.', example: 'In use', isOptional: true })
  readonly note!: string | null;
}
