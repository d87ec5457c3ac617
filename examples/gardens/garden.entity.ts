import { Column, Entity, PrimaryColumn } from 'typeorm';
import { INT64_COLUMN, Int64Field, TextField } from '@resource-service/framework';
// #region plants
import { Index, JoinColumn, ManyToOne } from 'typeorm';
import { Sortable } from '@resource-service/framework';
import { Plant } from '../../src/plants/plant.entity.js';
// #endregion

/** A garden: the columns of the table, and the constraints and schemas of the properties, from which the DTOs are made. */
// #region plants
// TypeORM cannot write partial indexes without their condition, nor expressions, so it leaves these to the migrations.
@Index('gardens_plant_id_idx', { synchronize: false })
@Index('gardens_name_sort_idx', { synchronize: false })
// #endregion
@Entity('gardens')
export class Garden {
  @PrimaryColumn({ ...INT64_COLUMN, primaryKeyConstraintName: 'gardens_pkey' })
  @Int64Field({ description: 'Identification number of the garden.', example: 7 })
  readonly id!: bigint;

  // #region plants
  @Sortable()
  // #endregion
  @Column('text')
  @TextField({
    description: 'The name of the garden.',
    example: 'Kitchen garden',
    minLength: 1,
    maxLength: 200,
  })
  readonly name!: string;

  @Column('text', { nullable: true })
  @TextField({ description: 'Whatever there is to know.', example: 'South wall', isOptional: true })
  readonly note!: string | null;

  // #region plants
  @Column({ ...INT64_COLUMN, name: 'plant_id', nullable: true })
  @Int64Field({ description: 'The plant that grows there.', example: 1001, isOptional: true })
  readonly plantId!: bigint | null;

  @ManyToOne(() => Plant, { onDelete: 'SET NULL' })
  @JoinColumn({ name: 'plant_id', foreignKeyConstraintName: 'gardens_plant_id_fkey' })
  readonly plant?: Plant;
  // #endregion
}
