import { Column, Entity, Index, PrimaryGeneratedColumn } from 'typeorm';
import {
  EnumField,
  INT64_COLUMN,
  Int64Field,
  ServiceManaged,
  TextField,
} from '@resource-service/framework';
import type { Filled, Managed } from '@resource-service/framework';

const ID_COLUMN = { ...INT64_COLUMN, primaryKeyConstraintName: 'tools_pkey' } as const;

const CONDITIONS = ['good', 'worn', 'broken'] as const;

/** A tool: the columns of the table, and the constraints and schemas of the properties, from which the DTOs are made. */
@Index('tools_condition_id_idx', ['condition', 'id'])
@Index('tools_borrower_id_idx', ['borrower', 'id'])
@Entity('tools')
export class Tool {
  @PrimaryGeneratedColumn('identity', ID_COLUMN)
  @Int64Field({ description: 'The number of the tool.', example: 7 })
  readonly id!: Filled<bigint>;

  @Column('text')
  @TextField({
    description: 'The name of the tool.',
    example: 'Hammer',
    minLength: 1,
    maxLength: 200,
  })
  readonly name!: string;

  @Column('text', { nullable: true })
  @TextField({ description: 'Whatever there is to know.', example: '500 g', isOptional: true })
  readonly note!: string | null;

  @EnumField(CONDITIONS, { description: 'How good it is.', default: 'good' })
  readonly condition!: (typeof CONDITIONS)[number];

  @ServiceManaged()
  @Column('text', { nullable: true })
  @TextField({ description: 'Who has it. A loan sets it.', example: 'Ada', isOptional: true })
  readonly borrower!: Managed<string> | null;
}
