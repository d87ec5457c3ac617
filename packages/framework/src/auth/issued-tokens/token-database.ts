import 'reflect-metadata';
import { DatabaseError } from 'pg';
import type { DataSource } from 'typeorm';
import { readCommandConfig } from '../../config/config.js';
import { withEnvFile } from '../../config/env-file.js';
import type { Identity } from '../../config/identity.js';
import { constant } from '../../config/secret-file.js';
import { STARTUP_LIMITS, withDataSource } from '../../database/connect.js';
import { UnreadableTimeError } from '../../database/connections/value-types.js';
import { isOutage } from '../../database/database-error.js';
import { StartupError } from '../../errors/startup.error.js';
import { describeError } from '../../observability/describe-error.js';
import { createLogger } from '../../observability/logger.js';
import { ISSUED_TOKENS_SCHEMA } from './access-token.entity.js';

/** The wait for a database that does not respond, in milliseconds. */
const PATIENCE = 5_000;

const UNDEFINED_TABLE = '42P01';

/**
 * Prevents issuing a token that no service accepts.
 *
 * @throws StartupError
 */
export function requireAcceptance(environment: NodeJS.ProcessEnv): void {
  if (readCommandConfig(withEnvFile(environment)).issuedTokens === true) return;
  throw new StartupError(
    'AUTH_ISSUED_TOKENS is false, so the service would not accept the token: set it to true first',
  );
}

/**
 * @param environment for DATABASE_SCHEMA
 * @throws StartupError when the database fails
 */
export async function withDatabase<Result>(
  identity: Identity,
  url: string,
  signal: AbortSignal,
  use: (dataSource: DataSource) => Promise<Result>,
  environment: NodeJS.ProcessEnv = process.env,
): Promise<Result> {
  const { schema } = readCommandConfig(withEnvFile(environment));
  const settings = { identity, url: constant(url), schema, poolMax: 1 };
  const limits = { ...STARTUP_LIMITS, wait: PATIENCE };
  const waiting = { log: createLogger('silent'), signal, limits };
  try {
    return await withDataSource(settings, ISSUED_TOKENS_SCHEMA, waiting, use);
  } catch (error) {
    throw explained(error);
  }
}

function explained(error: unknown): unknown {
  if (error instanceof StartupError) return error;
  if (error instanceof DatabaseError && error.code === UNDEFINED_TABLE) {
    return new StartupError(
      'the database has no table access_tokens: apply the migrations of this release first',
    );
  }
  // Such as a privilege that the role lacks.
  return error instanceof DatabaseError || error instanceof UnreadableTimeError || isOutage(error)
    ? new StartupError(`the database failed: ${describeError(error)}`, { cause: error })
    : error;
}
