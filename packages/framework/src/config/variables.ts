import { databaseUrl, databaseUrlMistakes } from './database-url.js';
import type { Variable } from './read-variable.js';
import {
  staticToken,
  boolean,
  byteSize,
  clientId,
  days,
  hostName,
  integerWithin,
  issuerUrl,
  oneOf,
  origins,
  printable,
  publicUrl,
  scopes,
  roleName,
  secureUrl,
  text,
  trustedProxies,
} from './variable-parsers.js';

const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const;
const LOG_FORMATS = ['json', 'text'] as const;

const HOST = { parse: hostName, rule: 'a host name or an IP address', fallback: '127.0.0.1' };
const PORT = { parse: integerWithin(0, 65_535), rule: 'a port number, 0 to 65535' };
const FILE = { parse: text, rule: 'the path of a file' };
const STATIC_TOKEN = {
  parse: staticToken,
  rule: '32 or more of the characters A-Z a-z 0-9 - . _ ~ + / (and = at the end)',
};

/** `.env.example` and docs/configuration.md list them, too. */
export const VARIABLES = {
  HOST,
  PORT: { ...PORT, fallback: '3000' },
  MANAGEMENT_HOST: HOST,
  MANAGEMENT_PORT: { ...PORT, fallback: '3001' },
  DATABASE_URL: {
    parse: databaseUrl,
    rule: 'a URL such as postgres://user:password@host:5432/database, special characters percent-encoded',
    mistakes: databaseUrlMistakes,
  },
  DATABASE_URL_FILE: FILE,
  DATABASE_POOL_MAX: {
    parse: integerWithin(1, 1_000),
    rule: 'an integer, 1 to 1000',
    fallback: '10',
  },
  DATABASE_MIGRATE_ON_START: { parse: boolean, rule: 'true or false', fallback: 'true' },
  DATABASE_SERVICE_ROLE: { parse: roleName, rule: 'the name of a role, at most 63 bytes' },
  DATABASE_SERVICE_PASSWORD: {
    parse: printable,
    rule: 'of printable ASCII characters',
    isVerbatim: true,
  },
  DATABASE_SERVICE_PASSWORD_FILE: FILE,
  AUTH_TOKEN: STATIC_TOKEN,
  AUTH_TOKEN_FILE: FILE,
  // After AUTH_TOKEN: StaticTokens needs the files to be read in this order.
  AUTH_TOKEN_PREVIOUS: STATIC_TOKEN,
  AUTH_TOKEN_PREVIOUS_FILE: FILE,
  AUTH_ISSUED_TOKENS: { parse: boolean, rule: 'true or false', fallback: 'true' },
  AUTH_JWT_ISSUER: {
    parse: issuerUrl,
    rule: 'an https URL (http on loopback only) without query or fragment',
  },
  AUTH_JWT_AUDIENCE: { parse: text, rule: 'a text' },
  AUTH_JWT_JWKS_URI: {
    parse: secureUrl,
    rule: 'an https URL (http on loopback only) without fragment',
  },
  AUTH_JWT_DEFAULT_SCOPES: {
    parse: scopes,
    rule: 'scopes such as tools:read tools:lend, separated by spaces, or none',
  },
  RATE_LIMIT: {
    parse: integerWithin(0, 1_000_000),
    rule: 'an integer, 0 to 1000000',
    fallback: '0',
  },
  CHANGES_ENABLED: { parse: boolean, rule: 'true or false' },
  CHANGES_RETENTION: {
    parse: days,
    rule: 'a number of days, such as 90d, at most 3650d',
    fallback: '90d',
  },
  PUBLIC_BASE_URL: {
    parse: publicUrl,
    rule: 'an http or https URL without query, such as https://shop.example.com/api',
  },
  BODY_LIMIT: { parse: byteSize, rule: 'a size from 1kb to 100mb, such as 512kb', fallback: '1mb' },
  KEEP_ALIVE_TIMEOUT: {
    parse: integerWithin(1, 86_400),
    rule: 'a number of seconds, 1 to 86400',
    // Longer than the 600 s of Google Cloud, so that all proxies but Envoy close connections first (docs/operations.md).
    fallback: '620',
  },
  CORS_ORIGINS: {
    parse: origins,
    rule: 'origins such as https://app.example.com or capacitor://localhost, separated by commas',
    fallback: '',
  },
  DOCS_ENABLED: { parse: boolean, rule: 'true or false', fallback: 'true' },
  DOCS_OAUTH_CLIENT_ID: {
    parse: clientId,
    rule: 'a client id of printable ASCII characters, without spaces',
  },
  LOG_LEVEL: {
    parse: oneOf(LOG_LEVELS),
    rule: `one of ${LOG_LEVELS.join(', ')}`,
    fallback: 'info',
  },
  LOG_FORMAT: { parse: oneOf(LOG_FORMATS), rule: `one of ${LOG_FORMATS.join(', ')}` },
  TRUST_PROXY: {
    parse: trustedProxies,
    rule: 'a number of proxies, or addresses, networks, loopback, linklocal or uniquelocal, separated by commas',
  },
  SHUTDOWN_DELAY: {
    parse: integerWithin(0, 300),
    rule: 'a number of seconds, 0 to 300',
    fallback: '0',
  },
} as const satisfies Record<string, Variable>;

export type VariableName = keyof typeof VARIABLES;

type ValueOf<V extends Variable> =
  Exclude<ReturnType<V['parse']>, undefined> | (V extends { fallback: string } ? never : undefined);

export type Values = { readonly [Name in VariableName]: ValueOf<(typeof VARIABLES)[Name]> };
