import { DATABASE_URL } from './database-url.js';
import type { Variable } from './read-variable.js';
import {
  BOOLEAN,
  CLIENT_ID,
  DAYS,
  HOST_NAME,
  integer,
  ISSUER,
  oneOf,
  ORIGINS,
  PORT,
  PRINTABLE,
  PROXIES,
  PUBLIC_URL,
  ROLE_NAME,
  SCOPES,
  SECURE_URL,
  SIZE,
  SCHEMA_NAME,
  STATIC_TOKEN,
  TEXT,
} from './variable-types.js';

const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const;

/** `.env.example` and docs/configuration.md list them, too. */
export const VARIABLES = {
  HOST: { ...HOST_NAME, fallback: '127.0.0.1' },
  PORT: { ...PORT, fallback: '3000' },
  MANAGEMENT_HOST: { ...HOST_NAME, fallback: '127.0.0.1' },
  MANAGEMENT_PORT: { ...PORT, fallback: '3001' },
  DATABASE_URL: { ...DATABASE_URL, file: 'required' },
  DATABASE_SCHEMA: SCHEMA_NAME,
  DATABASE_POOL_MAX: { ...integer(1, 1_000), fallback: '10' },
  DATABASE_MIGRATE_ON_START: { ...BOOLEAN, fallback: 'true' },
  DATABASE_SERVICE_ROLE: ROLE_NAME,
  DATABASE_SERVICE_PASSWORD: { ...PRINTABLE, file: 'required', isVerbatim: true },
  AUTH_TOKEN: { ...STATIC_TOKEN, file: 'required' },
  // Optional: otherwise, the end of each rotation would need a change of the deployment. After AUTH_TOKEN:
  // StaticTokenVerifier needs the files to be read in this order.
  AUTH_TOKEN_PREVIOUS: { ...STATIC_TOKEN, file: 'optional' },
  AUTH_ISSUED_TOKENS: { ...BOOLEAN, fallback: 'true' },
  AUTH_JWT_ISSUER: ISSUER,
  AUTH_JWT_AUDIENCE: TEXT,
  AUTH_JWT_JWKS_URI: SECURE_URL,
  AUTH_JWT_DEFAULT_SCOPES: SCOPES,
  RATE_LIMIT: { ...integer(0, 1_000_000), fallback: '0' },
  CHANGES_ENABLED: BOOLEAN,
  CHANGES_RETENTION: { ...DAYS, fallback: '90d' },
  PUBLIC_BASE_URL: PUBLIC_URL,
  BODY_LIMIT: { ...SIZE, fallback: '1mb' },
  // Longer than the 600 s of Google Cloud, so that all proxies but Envoy close connections first (docs/operations.md).
  KEEP_ALIVE_TIMEOUT: { ...integer(1, 86_400, 'a number of seconds'), fallback: '620' },
  CORS_ORIGINS: ORIGINS,
  DOCS_ENABLED: { ...BOOLEAN, fallback: 'true' },
  DOCS_OAUTH_CLIENT_ID: CLIENT_ID,
  LOG_LEVEL: { ...oneOf(LOG_LEVELS), fallback: 'info' },
  LOG_FORMAT: oneOf(['json', 'text']),
  TRUST_PROXY: PROXIES,
  SHUTDOWN_DELAY: { ...integer(0, 300, 'a number of seconds'), fallback: '0' },
} as const satisfies Record<string, Variable>;

export type VariableName = keyof typeof VARIABLES;

export type SecretName = {
  [Name in VariableName]: (typeof VARIABLES)[Name] extends { file: string } ? Name : never;
}[VariableName];
