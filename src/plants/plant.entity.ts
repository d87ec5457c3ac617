import { Column, Entity, PrimaryColumn } from 'typeorm';

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
