import { Column, Entity, Index, PrimaryColumn } from 'typeorm';

// TypeORM cannot write these indexes, so it leaves them to the migrations.
@Index('plants_tag_idx', { synchronize: false })
@Index('plants_name_search_idx', { synchronize: false })
@Entity('plants')
export class Plant {
  // pg returns int8 as text, because a number cannot hold every int8.
  @PrimaryColumn('bigint', {
    primaryKeyConstraintName: 'plants_pkey',
    transformer: { from: BigInt, to: String },
  })
  readonly id!: bigint;

  @Column('text')
  readonly name!: string;

  @Column('text', { nullable: true })
  readonly tag!: string | null;
}
