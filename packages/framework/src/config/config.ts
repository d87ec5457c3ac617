import { isIPv6 } from 'node:net';
import { StartupError } from '../errors/startup.error.js';
import { libpqMistakes } from './database-url.js';
import type { Identity } from './identity.js';
import { readVariable, SECRET_NAMES } from './read-variable.js';
import type { SecretFiles, SecretName, Variable } from './read-variable.js';
import { telemetryMistakes } from './telemetry-variables.js';
import { VARIABLES } from './variables.js';
import type { Values, VariableName } from './variables.js';
import { isLoopback } from './variable-parsers.js';

/** Read once, at start, and frozen. */
export type Config = ReturnType<typeof readConfig> & {
  /** Whether a local instance has generated the token, and prints it. */
  readonly auth: { readonly isTokenGenerated?: boolean };
};

export type ServiceConfig = Config & { readonly database: { readonly url: string } };

export type JwtConfig = NonNullable<Config['auth']['jwt']>;

/** The prefix of the tokens in the documentation, which are not secret. */
function localTokenPrefix({ name }: Identity): string {
  return `${name}-local-`;
}

function isLocalToken(identity: Identity, token: string | undefined): boolean {
  return token?.startsWith(localTokenPrefix(identity)) === true;
}

/** Whether the token is for this machine only, so that it may be shown. */
export function isPublicToken({ identity, auth }: Config): boolean {
  return auth.isTokenGenerated === true || isLocalToken(identity, auth.token);
}

/** @throws StartupError with one line for each mistake. No line contains a value, which may be a secret */
export function readConfig(identity: Identity, environment: NodeJS.ProcessEnv) {
  const { values, mistakes } = readVariables(environment);
  mistakes.push(
    ...contradictions(identity, environment, values),
    ...libpqMistakes(values.DATABASE_URL, environment),
    ...telemetryMistakes(environment),
  );
  if (mistakes.length > 0) throw new StartupError(mistakes.join('\n'));

  // Without mistakes, every value has its type.
  const value = values as Values;
  const { AUTH_JWT_ISSUER: issuer, AUTH_JWT_AUDIENCE: audience } = value;
  return deepFreeze({
    identity,
    http: {
      host: value.HOST,
      port: value.PORT,
      /** The URL that clients use, without a trailing slash. */
      publicBaseUrl: value.PUBLIC_BASE_URL?.href.replace(/\/$/, ''),
      /** Prefix of every public route, from `publicBaseUrl`: `''` or, for example, `/api`. */
      basePath: value.PUBLIC_BASE_URL?.pathname.replace(/\/$/, '') ?? '',
      /** Of a request, in bytes. */
      bodyLimit: value.BODY_LIMIT,
      corsOrigins: value.CORS_ORIGINS,
      /** Between two requests of a connection, in milliseconds. */
      keepAlive: value.KEEP_ALIVE_TIMEOUT * 1_000,
      docsEnabled: value.DOCS_ENABLED,
      /** Express's setting `trust proxy`. */
      trustProxy: value.TRUST_PROXY,
    },
    management: { host: value.MANAGEMENT_HOST, port: value.MANAGEMENT_PORT },
    database: {
      /** `undefined`: the embedded PostgreSQL. */
      url: value.DATABASE_URL,
      poolMax: value.DATABASE_POOL_MAX,
      migrateOnStart: value.DATABASE_MIGRATE_ON_START,
      serviceRole: serviceRole(value),
    },
    auth: {
      token: value.AUTH_TOKEN,
      previousToken: value.AUTH_TOKEN_PREVIOUS,
      /** Whether tokens that the command issues are accepted. */
      issuedTokens: value.AUTH_ISSUED_TOKENS,
      /** `jwksUri` is `undefined`: the URL in the issuer's discovery document. */
      jwt:
        issuer === undefined || audience === undefined
          ? undefined
          : ({
              issuer,
              audience,
              jwksUri: value.AUTH_JWT_JWKS_URI,
              /** For a token without a claim about scopes. `undefined`: none, and nobody has decided it. */
              defaultScopes: value.AUTH_JWT_DEFAULT_SCOPES,
              /** The client id of the docs page. `undefined`: it offers no sign-in. */
              docsClientId: value.DOCS_OAUTH_CLIENT_ID,
            } as const),
    },
    /** Read again while the service runs. The values above are from the start. */
    secretFiles: secretFiles(value),
    /** Requests per minute. 0: no limit. */
    rateLimits: { perPrincipal: value.RATE_LIMIT },
    changes: {
      /** `undefined`: if the database can keep their order. */
      enabled: value.CHANGES_ENABLED,
      /** In milliseconds. */
      retention: value.CHANGES_RETENTION,
    },
    logLevel: value.LOG_LEVEL,
    /** `undefined`: text if standard output is a terminal, otherwise JSON. */
    logFormat: value.LOG_FORMAT,
    /** How long the unready service still serves requests after SIGTERM, in milliseconds. */
    shutdownDelay: value.SHUTDOWN_DELAY * 1_000,
  } as const);
}

const COMMAND_VARIABLES: readonly VariableName[] = [
  'DATABASE_URL',
  'DATABASE_URL_FILE',
  'DATABASE_SERVICE_ROLE',
  'DATABASE_SERVICE_PASSWORD',
  'DATABASE_SERVICE_PASSWORD_FILE',
  'AUTH_ISSUED_TOKENS',
  'LOG_FORMAT',
];

/**
 * For commands that do not start the service.
 *
 * @throws StartupError
 */
export function readCommandConfig(environment: NodeJS.ProcessEnv) {
  const { values, mistakes } = readVariables(
    Object.fromEntries(COMMAND_VARIABLES.map((name) => [name, environment[name]])),
  );
  mistakes.push(...libpqMistakes(values.DATABASE_URL, environment));
  if (mistakes.length > 0) throw new StartupError(mistakes.join('\n'));
  return {
    databaseUrl: values.DATABASE_URL,
    secretFiles: secretFiles(values),
    serviceRole: serviceRole(values),
    issuedTokens: values.AUTH_ISSUED_TOKENS,
  };
}

/** Gets privileges after the migrations. */
function serviceRole({
  DATABASE_SERVICE_ROLE: name,
  DATABASE_SERVICE_PASSWORD: password,
}: Partial<Values>) {
  return name === undefined ? undefined : ({ name, password } as const);
}

export function withDatabase(config: Config, url: string): ServiceConfig {
  return deepFreeze({ ...config, database: { ...config.database, url } });
}

function readVariables(environment: NodeJS.ProcessEnv) {
  const values: Record<string, unknown> = {};
  const all: string[] = [];
  for (const [name, variable] of Object.entries<Variable>(VARIABLES)) {
    const { value, mistakes } = readVariable(environment, name, variable);
    values[name] = value;
    all.push(...mistakes);
  }
  return { values: values as Partial<Values>, mistakes: all };
}

function secretFiles(values: Partial<Values>): SecretFiles {
  const files: Partial<Record<SecretName, NodeJS.ProcessEnv>> = {};
  for (const name of SECRET_NAMES) {
    const file = values[`${name}_FILE`];
    if (file !== undefined) files[name] = { [`${name}_FILE`]: file };
  }
  return files;
}

/** Variables that mean nothing without another one. */
const NEEDED = [
  ['DATABASE_SERVICE_PASSWORD', 'DATABASE_SERVICE_ROLE'],
  ['AUTH_TOKEN_PREVIOUS', 'AUTH_TOKEN'],
  ['AUTH_JWT_AUDIENCE', 'AUTH_JWT_ISSUER'],
  ['AUTH_JWT_JWKS_URI', 'AUTH_JWT_ISSUER'],
  ['AUTH_JWT_DEFAULT_SCOPES', 'AUTH_JWT_ISSUER'],
  ['DOCS_OAUTH_CLIENT_ID', 'AUTH_JWT_ISSUER'],
] as const;

function contradictions(
  identity: Identity,
  environment: NodeJS.ProcessEnv,
  values: Partial<Values>,
): string[] {
  const isSet = (name: VariableName) =>
    Boolean(environment[name]?.trim() || environment[`${name}_FILE`]?.trim());
  const production = environment['NODE_ENV']?.trim() === 'production';
  const mistakes: string[] = [];
  if (production && !isSet('DATABASE_URL')) {
    mistakes.push('DATABASE_URL must be set when NODE_ENV is production');
  }
  // Nobody may have issued a token yet, so the default is not enough.
  const hasIssuedTokens = isSet('AUTH_ISSUED_TOKENS') && values.AUTH_ISSUED_TOKENS === true;
  const hasOwnCredentials = isSet('AUTH_TOKEN') || isSet('AUTH_JWT_ISSUER') || hasIssuedTokens;
  if ((production || isSet('DATABASE_URL')) && !hasOwnCredentials) {
    mistakes.push(
      'AUTH_TOKEN or AUTH_JWT_ISSUER must be set, or AUTH_ISSUED_TOKENS be true, otherwise no request can be authenticated',
    );
  }
  if (
    // 0 selects any free port.
    values.PORT &&
    values.PORT === values.MANAGEMENT_PORT &&
    isSameAddress(values.HOST, values.MANAGEMENT_HOST)
  ) {
    mistakes.push('MANAGEMENT_PORT and PORT must be different');
  }
  if (isSet('AUTH_JWT_ISSUER') && !isSet('AUTH_JWT_AUDIENCE')) {
    mistakes.push('AUTH_JWT_AUDIENCE must be set when AUTH_JWT_ISSUER is');
  }
  for (const [name, needed] of NEEDED) {
    if (isSet(name) && !isSet(needed)) mistakes.push(`${name} needs ${needed}`);
  }
  if (isSet('DOCS_OAUTH_CLIENT_ID') && values.DOCS_ENABLED === false) {
    mistakes.push('DOCS_OAUTH_CLIENT_ID must not be set when DOCS_ENABLED is false');
  }
  for (const name of ['AUTH_TOKEN', 'AUTH_TOKEN_PREVIOUS'] as const) {
    mistakes.push(...localTokenMistakes(identity, name, values[name], values.PUBLIC_BASE_URL));
  }
  return mistakes;
}

/** Whether two listeners on one port would conflict. `::` is every address, `0.0.0.0` every one of IPv4. */
function isSameAddress(host = '', other = ''): boolean {
  const hosts = [host, other];
  if (host === other || hosts.includes('::')) return true;
  return hosts.includes('0.0.0.0') && !hosts.some((each) => isIPv6(each));
}

/** A well-known token is a mistake where other machines can reach the service. */
export function localTokenMistakes(
  identity: Identity,
  name: SecretName,
  token: string | undefined,
  publicBaseUrl: URL | undefined,
): string[] {
  const isPublic = isLocalToken(identity, token);
  if (!isPublic || publicBaseUrl === undefined || isLoopback(publicBaseUrl.hostname)) return [];
  return [
    `${name} must not begin with ${localTokenPrefix(identity)} unless PUBLIC_BASE_URL is unset or on loopback: such tokens are public, so set a secret token`,
  ];
}

function deepFreeze<T extends object>(object: T): T {
  for (const value of Object.values(object)) {
    if (typeof value === 'object' && value !== null) deepFreeze(value);
  }
  return Object.freeze(object);
}
