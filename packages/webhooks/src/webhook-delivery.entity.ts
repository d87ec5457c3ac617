import { Exclude } from 'class-transformer';
import { Column, Entity, Index, JoinColumn, ManyToOne, PrimaryGeneratedColumn } from 'typeorm';
import {
  EnumField,
  INT64_COLUMN,
  Int64Field,
  IntegerField,
  TextField,
  TIMESTAMP_COLUMN,
  TimestampField,
  UuidField,
} from '@resource-service/framework';
import type { Filled } from '@resource-service/framework';
import { Webhook } from './webhook.entity.js';

export const OUTCOMES = ['delivered', 'failed', 'gone'] as const;

@Index('webhook_deliveries_webhook_id_id_idx', ['webhookId', 'id'])
@Entity('webhook_deliveries')
export class WebhookDelivery {
  @PrimaryGeneratedColumn('identity', {
    ...INT64_COLUMN,
    generatedIdentity: 'ALWAYS',
    primaryKeyConstraintName: 'webhook_deliveries_pkey',
  })
  @Int64Field({ description: 'Greater than the ids of earlier attempts.', example: 1 })
  readonly id!: Filled<bigint>;

  @Column('uuid', { name: 'webhook_id' })
  @UuidField({ description: 'The webhook.' })
  readonly webhookId!: string;

  @Exclude()
  @ManyToOne(() => Webhook, { onDelete: 'CASCADE' })
  @JoinColumn({
    name: 'webhook_id',
    foreignKeyConstraintName: 'webhook_deliveries_webhook_id_fkey',
  })
  readonly webhook?: Webhook;

  @Column('text', { name: 'message_id' })
  @TextField({
    description: 'The `webhook-id` of the message, which each attempt has.',
    example: 'tool_7',
  })
  readonly messageId!: string;

  @Column('text')
  @TextField({ description: 'The `type` of the message.', example: 'tool.created' })
  readonly type!: string;

  @Column(TIMESTAMP_COLUMN)
  @TimestampField({ description: 'When it was sent.' })
  readonly time!: Date;

  @EnumField(OUTCOMES, { description: 'What became of it: `gone` is a response 410.' })
  readonly outcome!: (typeof OUTCOMES)[number];

  @Column('integer', { nullable: true })
  @IntegerField({
    description: 'The status of the response.',
    example: 200,
    minimum: 0,
    maximum: 999,
    isOptional: true,
  })
  readonly status!: number | null;

  @Column('text', { nullable: true })
  @TextField({ description: 'Why it failed.', isOptional: true })
  readonly reason!: string | null;

  @Column('text', { nullable: true })
  @TextField({ description: 'The begin of the body of the response.', isOptional: true })
  readonly response!: string | null;
}
