import { hash } from 'node:crypto';
import type { DataSource, EntityManager } from 'typeorm';
import { lockOf } from '../../database/advisory-locks.js';
import { repeatAfterConflict } from '../../database/repeat-after-conflict.js';
import type { AccessToken } from './access-token.entity.js';
import { newTokenId } from './token-format.js';
import type { TokenFormat } from './token-format.js';

/** Of active tokens. Each replica keeps them in memory. */
export const MAX_TOKENS = 10_000;

/** Of revoked or expired tokens, which stay in the table so that they can be told from unknown ones. */
export const MAX_ENDED = 1_000;

/** In seconds. */
export type Lifetime = number | 'never';

export interface NewToken {
  readonly name: string;
  readonly scopes: readonly string[];
  readonly lifetime: Lifetime;
}

export interface Rotation {
  /** Seconds for which the old secret is still accepted, unless it expires earlier. */
  readonly grace: number;
  /** `undefined`: unchanged. */
  readonly lifetime: Lifetime | undefined;
  /** Whether the grace of an earlier rotation may end at once: a token has two secrets at most. */
  readonly endsGrace: boolean;
}

export type TokenStatus = 'active' | 'expired' | 'revoked';

/** The view of operators. */
export type TokenDetails = Omit<AccessToken, 'secretHash' | 'previousHash'> & {
  readonly status: TokenStatus;
};

/** With the secret, which nobody can read again. */
export interface IssuedToken {
  readonly token: string;
  readonly details: TokenDetails;
}

const IS_ENDED = '(revoked_at IS NOT NULL OR coalesce(expires_at <= now(), false))';

/** A row written by hand can have infinity, or a year that no `Date` has. */
const TIME = (column: string) =>
  `CASE WHEN ${column} IS NOT NULL THEN least(greatest(${column}, '0001-01-01Z'), '9999-12-31Z') END`;

const DETAILS = `id, name, scopes, ${TIME('previous_expires_at')} AS "previousExpiresAt",
  ${TIME('created_at')} AS "createdAt", ${TIME('issued_at')} AS "issuedAt", ${TIME("nullif(expires_at, 'infinity')")} AS "expiresAt",
  ${TIME('revoked_at')} AS "revokedAt", ${TIME('last_used_at')} AS "lastUsedAt",
  CASE WHEN revoked_at IS NOT NULL THEN 'revoked' WHEN expires_at <= now() THEN 'expired' ELSE 'active' END AS status`;

/** NULL (never) if the number of seconds is NULL. */
const EXPIRY = (parameter: string) => `now() + make_interval(secs => ${parameter})`;

/** Two together must not exceed the limit. */
const LOCK = `SELECT pg_advisory_xact_lock(${lockOf('access_tokens')})`;

const REMOVE_ENDED = `DELETE FROM access_tokens WHERE id IN (
  SELECT id FROM access_tokens WHERE ${IS_ENDED} ORDER BY least(revoked_at, expires_at) DESC OFFSET ${MAX_ENDED})`;

const COUNT_ACTIVE = `SELECT count(*)::int AS count FROM access_tokens WHERE NOT ${IS_ENDED}`;

const CREATE = `INSERT INTO access_tokens (id, name, scopes, secret_hash, expires_at)
  VALUES ($1, $2, $3, $4, ${EXPIRY('$5')}) RETURNING ${DETAILS}`;

const LIST = `SELECT ${DETAILS} FROM access_tokens ORDER BY created_at, id`;

const FIND = `SELECT ${DETAILS} FROM access_tokens WHERE id = $1`;

/** A token that is revoked already keeps the time. */
const REVOKE = `UPDATE access_tokens SET revoked_at = coalesce(revoked_at, now()) WHERE id = $1 RETURNING ${DETAILS}`;

/** One statement: the second of two concurrent rotations sees the grace that the first has stored. */
const ROTATE = `UPDATE access_tokens SET
    previous_hash = secret_hash,
    previous_expires_at = least(${EXPIRY('$3')}, expires_at),
    secret_hash = $2,
    issued_at = now(),
    expires_at = CASE
      WHEN NOT $4 THEN ${EXPIRY('$5')}
      -- PostgreSQL before 17 cannot subtract infinity.
      WHEN isfinite(expires_at) AND isfinite(issued_at) THEN now() + (expires_at - issued_at)
      ELSE expires_at
    END
  WHERE id = $1 AND NOT ${IS_ENDED} AND ($6 OR coalesce(previous_expires_at <= now(), true)) RETURNING ${DETAILS}`;

/** @returns `undefined` if there are too many */
export function createToken(
  dataSource: DataSource,
  format: TokenFormat,
  { name, scopes, lifetime }: NewToken,
): Promise<IssuedToken | undefined> {
  const id = newTokenId();
  const token = format.create(id);
  return transaction(dataSource, async (manager) => {
    await manager.query(LOCK);
    await manager.query(REMOVE_ENDED);
    const [row] = await manager.query<{ count: number }[]>(COUNT_ACTIVE);
    if (row === undefined || row.count >= MAX_TOKENS) return undefined;
    const values = [id, name, scopes, hashOf(token), secondsOf(lifetime)];
    const [details] = await manager.query<TokenDetails[]>(CREATE, values);
    return details && { token, details };
  });
}

export function listTokens(dataSource: DataSource): Promise<readonly TokenDetails[]> {
  return dataSource.query<TokenDetails[]>(LIST);
}

/** @returns `undefined` if there is no such token */
export function revokeToken(dataSource: DataSource, id: string): Promise<TokenDetails | undefined> {
  return transaction(dataSource, (manager) => change(manager, REVOKE, [id]));
}

/**
 * @returns only details if the token is revoked or expired, or if its old secret is still accepted; `undefined` if
 *   there is no such token
 */
export function rotateToken(
  dataSource: DataSource,
  format: TokenFormat,
  id: string,
  { grace, lifetime, endsGrace }: Rotation,
): Promise<IssuedToken | Pick<IssuedToken, 'details'> | undefined> {
  const token = format.create(id);
  return transaction(dataSource, async (manager) => {
    const keeps = lifetime === undefined;
    const seconds = keeps ? null : secondsOf(lifetime);
    const values = [id, hashOf(token), grace, keeps, seconds, endsGrace];
    const rotated = await change(manager, ROTATE, values);
    if (rotated !== undefined) return { token, details: rotated };
    const [details] = await manager.query<TokenDetails[]>(FIND, [id]);
    return details && { details };
  });
}

function transaction<Result>(
  dataSource: DataSource,
  work: (manager: EntityManager) => Promise<Result>,
): Promise<Result> {
  return repeatAfterConflict(() => dataSource.transaction(work));
}

/** TypeORM returns the rows of an UPDATE and their number. */
async function change(
  manager: EntityManager,
  statement: string,
  values: unknown[],
): Promise<TokenDetails | undefined> {
  const [rows] = await manager.query<[TokenDetails[], number]>(statement, values);
  return rows[0];
}

function hashOf(token: string): Buffer {
  return hash('sha256', token, 'buffer');
}

function secondsOf(lifetime: Lifetime): number | null {
  return lifetime === 'never' ? null : lifetime;
}
