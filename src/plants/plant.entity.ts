import { Column, Entity, Index, PrimaryColumn } from 'typeorm';
import { INT64_COLUMN, Int64Field, Sortable, TextField } from '@resource-service/framework';

/** A plant: the columns of the table, and the constraints and schemas of the properties, from which the DTOs are made. */
// TypeORM cannot write these indexes, so it leaves them to the migrations.
@Index('plants_tag_idx', { synchronize: false })
@Index('plants_tag_sort_idx', { synchronize: false })
@Index('plants_name_search_idx', { synchronize: false })
@Entity('plants')
export class Plant {
  @PrimaryColumn({ ...INT64_COLUMN, primaryKeyConstraintName: 'plants_pkey' })
  @Int64Field({ description: 'Identification number of the plant.', example: 7 })
  readonly id!: bigint;

  @Column('text')
  @TextField({ description: 'The name of the plant. It may be empty.', example: 'Monstera' })
  readonly name!: string;

  @Sortable()
  @Column('text', { nullable: true })
  @TextField({
    description: 'Tag that specifies the type of the plant.',
    example: 'indoor',
    isOptional: true,
  })
  readonly tag!: string | null;
}
