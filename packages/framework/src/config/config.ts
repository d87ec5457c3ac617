import { isIPv6 } from 'node:net';
import { StartupError } from '../errors/startup.error.js';
import { libpqMistakes } from './database-url.js';
import type { Identity } from './identity.js';
import { readVariables } from './read-variable.js';
import type { Values } from './read-variable.js';
import { tableMistakes } from './service-variables.js';
import type { ServiceVariables } from './service-variables.js';
import { telemetryMistakes } from './telemetry-variables.js';
import { isLoopback } from './variable-types.js';
import { VARIABLES } from './variables.js';
import type { SecretName, VariableName } from './variables.js';

/** The variables of the framework, read once, at start, and frozen. */
export type Config = ReturnType<typeof readConfig> & {
  /** Whether a local instance has generated the token, and prints it. */
  readonly auth: { readonly isTokenGenerated?: boolean };
};

export type ServiceConfig = Config & {
  /** `connectsAtOnce`: as soon as there are providers, because nobody starts the service. */
  readonly database: { readonly url: string; readonly connectsAtOnce?: boolean };
};

export type CommandConfig = ReturnType<typeof readCommandConfig>;

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

/**
 * @param variables the service's own
 * @param hasVerifiers whether the service itself knows credentials
 * @throws StartupError with one line for each mistake. No line contains a value, which may be a secret
 */
export function readConfig(
  identity: Identity,
  environment: NodeJS.ProcessEnv,
  variables: ServiceVariables = {},
  hasVerifiers = false,
) {
  const { values, files, mistakes } = readVariables(VARIABLES, environment);
  const own = readVariables(variables, environment);
  mistakes.push(
    ...tableMistakes(variables),
    ...own.mistakes,
    ...contradictions(identity, environment, values, hasVerifiers),
    ...libpqMistakes(values.DATABASE_URL, environment),
    ...telemetryMistakes(environment),
  );
  if (mistakes.length > 0) throw new StartupError(mistakes.join('\n'));

  // Without mistakes, every value has its type.
  const value = values as Values<typeof VARIABLES>;
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
      corsOrigins: value.CORS_ORIGINS ?? [],
      /** Between two requests of a connection, in milliseconds. */
      keepAlive: value.KEEP_ALIVE_TIMEOUT * 1_000,
      docsEnabled: value.DOCS_ENABLED,
      trustProxy: value.TRUST_PROXY,
    },
    management: { host: value.MANAGEMENT_HOST, port: value.MANAGEMENT_PORT },
    database: {
      /** `undefined`: the embedded PostgreSQL. */
      url: value.DATABASE_URL,
      /** `undefined`: the first schema of the search path. */
      schema: value.DATABASE_SCHEMA,
      poolMax: value.DATABASE_POOL_MAX,
      migrateOnStart: value.DATABASE_MIGRATE_ON_START,
      serviceRole: serviceRole(value),
    },
    auth: {
      token: value.AUTH_TOKEN,
      previousToken: value.AUTH_TOKEN_PREVIOUS,
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
    /** By name of the variable. Read again while the service runs. The values above are from the start. */
    secretFiles: files,
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
    variables: own.values as Readonly<Record<string, unknown>>,
  } as const);
}

/** @throws StartupError */
export function readCommandConfig(environment: NodeJS.ProcessEnv) {
  const { DATABASE_URL, DATABASE_SCHEMA, DATABASE_SERVICE_ROLE, DATABASE_SERVICE_PASSWORD } =
    VARIABLES;
  const { AUTH_ISSUED_TOKENS, LOG_FORMAT } = VARIABLES;
  const ofRole = { DATABASE_SERVICE_ROLE, DATABASE_SERVICE_PASSWORD };
  const database = { DATABASE_URL, DATABASE_SCHEMA, ...ofRole };
  const table = { ...database, AUTH_ISSUED_TOKENS, LOG_FORMAT };
  const { values, files, mistakes } = readVariables(table, environment);
  mistakes.push(...libpqMistakes(values.DATABASE_URL, environment));
  if (mistakes.length > 0) throw new StartupError(mistakes.join('\n'));
  return {
    databaseUrl: values.DATABASE_URL,
    schema: values.DATABASE_SCHEMA,
    secretFiles: files,
    serviceRole: serviceRole(values),
    issuedTokens: values.AUTH_ISSUED_TOKENS,
  };
}

function serviceRole({
  DATABASE_SERVICE_ROLE: name,
  DATABASE_SERVICE_PASSWORD: password,
}: Partial<Values<typeof VARIABLES>>) {
  return name === undefined ? undefined : ({ name, password } as const);
}

export function withDatabase(config: Config, url: string): ServiceConfig {
  return deepFreeze({ ...config, database: { ...config.database, url } });
}

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
  values: Partial<Values<typeof VARIABLES>>,
  hasVerifiers: boolean,
): string[] {
  const isSet = (name: VariableName) =>
    Boolean(environment[name]?.trim() || environment[`${name}_FILE`]?.trim());
  const isProduction = environment['NODE_ENV']?.trim() === 'production';
  // Nobody may have issued a token yet, so the default is not enough.
  const hasIssuedTokens = isSet('AUTH_ISSUED_TOKENS') && values.AUTH_ISSUED_TOKENS === true;
  const hasCredentials =
    hasVerifiers || isSet('AUTH_TOKEN') || isSet('AUTH_JWT_ISSUER') || hasIssuedTokens;
  const { HOST, PORT, MANAGEMENT_HOST, MANAGEMENT_PORT, PUBLIC_BASE_URL: publicUrl } = values;
  // 0 selects any free port.
  const isSamePort = Boolean(PORT) && PORT === MANAGEMENT_PORT;
  const mistakes: Readonly<Record<string, boolean>> = {
    'DATABASE_URL must be set when NODE_ENV is production': isProduction && !isSet('DATABASE_URL'),
    'AUTH_TOKEN or AUTH_JWT_ISSUER must be set, or AUTH_ISSUED_TOKENS be true, otherwise no request can be authenticated':
      (isProduction || isSet('DATABASE_URL')) && !hasCredentials,
    'MANAGEMENT_PORT and PORT must be different':
      isSamePort && isSameAddress(HOST, MANAGEMENT_HOST),
    'AUTH_JWT_AUDIENCE must be set when AUTH_JWT_ISSUER is':
      isSet('AUTH_JWT_ISSUER') && !isSet('AUTH_JWT_AUDIENCE'),
    'DOCS_OAUTH_CLIENT_ID must not be set when DOCS_ENABLED is false':
      isSet('DOCS_OAUTH_CLIENT_ID') && values.DOCS_ENABLED === false,
  };
  return [
    ...Object.keys(mistakes).filter((mistake) => mistakes[mistake]),
    ...NEEDED.flatMap(([name, needed]) =>
      isSet(name) && !isSet(needed) ? [`${name} needs ${needed}`] : [],
    ),
    ...(['AUTH_TOKEN', 'AUTH_TOKEN_PREVIOUS'] as const).flatMap((name) =>
      localTokenMistakes(identity, name, values[name], publicUrl?.href),
    ),
  ];
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
  publicBaseUrl: string | undefined,
): string[] {
  const isPublic = isLocalToken(identity, token);
  if (!isPublic || !publicBaseUrl || isLoopback(new URL(publicBaseUrl).hostname)) return [];
  return [
    `${name} must not begin with ${localTokenPrefix(identity)} unless PUBLIC_BASE_URL is unset or on loopback: such tokens are public, so set a secret token`,
  ];
}

function deepFreeze<T extends object>(object: T): T {
  for (const value of Object.values(object)) {
    // Values of other classes belong to the service: a Buffer cannot be frozen.
    if (Array.isArray(value) || value?.constructor === Object) deepFreeze(value as object);
  }
  return Object.freeze(object);
}
