import { Exclude } from 'class-transformer';
import { Column, Entity, PrimaryColumn } from 'typeorm';
import {
  EnumField,
  ServiceManaged,
  TextArrayField,
  TextField,
  TIMESTAMP_COLUMN,
  TimestampField,
  UUID_COLUMN,
  UuidField,
} from '@resource-service/framework';
import type { Filled, Managed } from '@resource-service/framework';

export const KINDS = ['created', 'replaced', 'removed'] as const;

export const PAUSE_REASONS = [
  'failing',
  'gone',
  'changes-pruned',
  'changes-unrecorded',
  'position-unknown',
] as const;
export type PauseReason = (typeof PAUSE_REASONS)[number];

/** An address, and how far it has come in the records of changes. */
@Entity('webhooks')
export class Webhook {
  @PrimaryColumn({ ...UUID_COLUMN, primaryKeyConstraintName: 'webhooks_pkey' })
  @UuidField({ description: 'The id of the webhook.' })
  readonly id!: Filled<string>;

  @Column('text')
  @TextField({
    description: 'The address that messages are sent to: an https URL of a public server.',
    example: 'https://example.com/webhooks',
    minLength: 1,
    maxLength: 2_000,
  })
  readonly url!: string;

  @TextArrayField({
    description: `Which changes are sent: ${KINDS.map((kind) => `\`${kind}\``).join(', ')}. Empty: all.`,
    example: ['created'],
    maxItems: KINDS.length,
    maxLength: 20,
    default: [],
  })
  readonly kinds!: readonly string[];

  @TextArrayField({
    description: 'The resources whose changes are sent, as in `type` before the dot. Empty: all.',
    example: [],
    maxItems: 100,
    maxLength: 100,
    default: [],
  })
  readonly resources!: readonly string[];

  @ServiceManaged()
  @EnumField(PAUSE_REASONS, {
    description:
      'Why no messages are sent until the webhook is resumed: `failing` for three days, `gone` because of a response 410, `changes-pruned`, `changes-unrecorded` or `position-unknown` because changes may be missing. Absent: it is active.',
    isOptional: true,
    column: { name: 'paused_reason' },
  })
  readonly pausedReason!: Managed<PauseReason> | null;

  @ServiceManaged()
  @Column({ ...TIMESTAMP_COLUMN, name: 'paused_at', nullable: true })
  @TimestampField({ description: 'When it was paused.', isOptional: true })
  readonly pausedAt!: Managed<Date> | null;

  @ServiceManaged()
  @Column({ ...TIMESTAMP_COLUMN, name: 'failing_since', nullable: true })
  @TimestampField({ description: 'Since when messages fail.', isOptional: true })
  readonly failingSince!: Managed<Date> | null;

  @ServiceManaged()
  @Column({ ...TIMESTAMP_COLUMN, name: 'waiting_since', nullable: true })
  @TimestampField({
    description: 'The time of the first change that waits to be sent.',
    isOptional: true,
  })
  readonly waitingSince!: Managed<Date> | null;

  @ServiceManaged()
  @Column({ ...TIMESTAMP_COLUMN, name: 'next_attempt_at', nullable: true })
  @TimestampField({ description: 'When it is tried again.', isOptional: true })
  readonly nextAttemptAt!: Managed<Date> | null;

  @ServiceManaged()
  @Column('text', { name: 'last_error', nullable: true })
  @TextField({ description: 'Why the last message failed.', isOptional: true })
  readonly lastError!: Managed<string> | null;

  /** Since the last success. */
  @Exclude()
  @Column('integer', { default: 0 })
  readonly attempts!: Managed<number>;

  /** Of each resource, the last change that was sent. As text: a number would be rounded. */
  @Exclude()
  @Column('jsonb')
  readonly positions!: Managed<Readonly<Record<string, string>>>;

  @Exclude()
  @Column('text')
  readonly secret!: Managed<string>;

  @Exclude()
  @Column('text', { name: 'previous_secret', nullable: true })
  readonly previousSecret!: Managed<string> | null;

  /** Until then, messages have a signature with the previous secret, too. */
  @Exclude()
  @Column({ ...TIMESTAMP_COLUMN, name: 'previous_until', nullable: true })
  readonly previousUntil!: Managed<Date> | null;

  /** The replica that sends. Empty: none, but one still has the lease. */
  @Exclude()
  @Column('text', { nullable: true })
  readonly holder!: Managed<string> | null;

  /** Afterwards, another replica may send. Of a webhook whose holder is NULL: when it was last served. */
  @Exclude()
  @Column({ ...TIMESTAMP_COLUMN, name: 'leased_until', nullable: true })
  readonly leasedUntil!: Managed<Date> | null;
}
