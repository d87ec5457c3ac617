import { Column, Entity, PrimaryColumn } from 'typeorm';

@Entity('plants')
export class Plant {
  // pg hands an int8 over as text, because a JS number could not hold it.
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
