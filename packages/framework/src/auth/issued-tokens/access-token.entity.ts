import { Column, Entity, PrimaryColumn } from 'typeorm';
import type { DatabaseSchema } from '../../database/data-source.js';
import { CreateAccessTokens1795478400000 } from './migrations/1795478400000-create-access-tokens.js';

const TIMESTAMP = { type: 'timestamptz', precision: 3 } as const;

/**
 * Instead of its secret, the table has the SHA-256 of the whole token. A secret of 130 random bits cannot be guessed,
 * so it needs no slow hash (NIST SP 800-63B-3, section 5.1.2.2: from 112 bits).
 */
@Entity('access_tokens')
export class AccessToken {
  @PrimaryColumn('text', { primaryKeyConstraintName: 'access_tokens_pkey' })
  readonly id!: string;

  @Column('text')
  readonly name!: string;

  @Column('text', { array: true })
  readonly scopes!: readonly string[];

  @Column('bytea', { name: 'secret_hash' })
  readonly secretHash!: Buffer;

  /** Before the last rotation. */
  @Column('bytea', { name: 'previous_hash', nullable: true })
  readonly previousHash!: Buffer | null;

  @Column({ ...TIMESTAMP, name: 'previous_expires_at', nullable: true })
  readonly previousExpiresAt!: Date | null;

  @Column({ ...TIMESTAMP, name: 'created_at', default: () => 'now()' })
  readonly createdAt!: Date;

  /** At the creation or at the last rotation. */
  @Column({ ...TIMESTAMP, name: 'issued_at', default: () => 'now()' })
  readonly issuedAt!: Date;

  /** `null`: never. */
  @Column({ ...TIMESTAMP, name: 'expires_at', nullable: true })
  readonly expiresAt!: Date | null;

  @Column({ ...TIMESTAMP, name: 'revoked_at', nullable: true })
  readonly revokedAt!: Date | null;

  @Column({ ...TIMESTAMP, name: 'last_used_at', nullable: true })
  readonly lastUsedAt!: Date | null;
}

export const ISSUED_TOKENS_SCHEMA: DatabaseSchema = {
  entities: [AccessToken],
  migrations: [CreateAccessTokens1795478400000],
};
