import { Column, Entity, JoinColumn, ManyToOne, PrimaryColumn, Unique } from 'typeorm';
import {
  INT64_COLUMN,
  Int64Field,
  TextField,
  UUID_COLUMN,
  UuidField,
} from '@resource-service/framework';
import type { Filled } from '@resource-service/framework';
import { Tool } from '../tools/tool.entity.js';

/** A loan of a tool, which ends when it is removed. */
@Unique('loans_tool_id_key', ['toolId'])
@Entity('loans')
export class Loan {
  @PrimaryColumn({ ...UUID_COLUMN, primaryKeyConstraintName: 'loans_pkey' })
  @UuidField({ description: 'The id of the loan.' })
  readonly id!: Filled<string>;

  @Column({ ...INT64_COLUMN, name: 'tool_id' })
  @Int64Field({ description: 'The tool that is lent.', example: 2 })
  readonly toolId!: bigint;

  @ManyToOne(() => Tool)
  @JoinColumn({ name: 'tool_id', foreignKeyConstraintName: 'loans_tool_id_fkey' })
  readonly tool?: Tool;

  @Column('text')
  @TextField({ description: 'Who has it.', example: 'Ada', minLength: 1, maxLength: 200 })
  readonly borrower!: string;
}
