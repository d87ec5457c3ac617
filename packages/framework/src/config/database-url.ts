import { isIP } from 'node:net';
import type { Variable } from './read-variable.js';
import { integer } from './variable-types.js';

/** `allow` and `prefer` are missing: pg cannot fall back to no TLS. */
const SSL_MODES: readonly string[] = [
  'disable',
  'require',
  'verify-ca',
  'verify-full',
  'no-verify',
];

/** As in libpq: the default certificate authorities of the machine. They issue certificates to anybody. */
const SYSTEM = 'system';

const VALUES: Readonly<Record<string, readonly string[]>> = {
  ssl: ['true', '1', '0', 'no-verify'],
  sslmode: SSL_MODES,
  sslnegotiation: ['postgres', 'direct'],
  // The service needs a primary.
  target_session_attrs: ['read-write', 'primary'],
  uselibpqcompat: ['true', 'false'],
};

/** In milliseconds. The driver would read only the leading digits: 5 of `5s`. */
const TIMEOUTS = new Set(['idle_in_transaction_session_timeout', 'lock_timeout']);
const TIMEOUT = integer(0, 2 ** 31 - 1);

const PORT = integer(1, 65_535);

/**
 * The parameters that pg reads (`pg-connection-string`, pg's `ConnectionParameters`), and `target_session_attrs`, for
 * the service itself. Others would be ignored. Timeouts such as `statement_timeout` are missing on purpose, because
 * they would override the service's own.
 */
const PARAMETERS =
  `application_name host idle_in_transaction_session_timeout lock_timeout options password port ssl
  sslcert sslkey sslmode sslnegotiation sslrootcert target_session_attrs user uselibpqcompat`.split(
    /\s+/,
  );

/** The part before the hosts of a URL, the hosts, and the rest. */
const PARTS = /^([^/?#]+:\/\/(?:[^/?#]*@)?)([^/?#]*)(.*)$/s;

/** A scheme with an empty host, perhaps with user, password and port, which libpq accepts and `URL` does not. */
const NO_HOST = /^([^/?#]+:\/\/)(?:([^/?#@:]*)(?::([^/?#@]*))?@)?(?::(\d*))?(?=[/?#]|$)/;

type UrlParameters = Partial<Record<string, string>>;

export interface DatabaseServers {
  /** One URL for each host. */
  readonly urls: readonly [string, ...string[]];
  /** Whether a server counts as the primary only if its sessions can write. */
  readonly mustWrite: boolean;
}

/**
 * Returns the URL as the driver reads it, with an explicit `sslmode`: unless `uselibpqcompat` is set, pg treats `require`
 * and `verify-ca` as `verify-full`, and prints a warning that this will change.
 */
export function databaseUrl(raw: string): string | undefined {
  // As in libpq. A space would make the driver encode all of it anew, and `URL` leaves out tabs.
  if (/\s/.test(raw) || !isEncoded(raw)) return undefined;
  // Probably the rest of a password with an unencoded `?` or `#`. It must not appear in messages as a parameter.
  if (/\?.*@|#/.test(raw)) return undefined;
  const whole = withoutLogin(raw);
  const urls = splitAuthority(whole);
  if (!urls.every((url) => URL.canParse(url))) return undefined;
  const url = new URL(urls[0]);
  if (!['postgres:', 'postgresql:'].includes(url.protocol)) return undefined;
  // Probably the rest of a password with an unencoded `/`, the first part of which would appear as hosts.
  if (url.pathname.includes('@')) return undefined;
  const parameters = lastValues(url);
  if (parameters.sslrootcert === SYSTEM) url.searchParams.delete('sslrootcert');
  else if (!isRaised(parameters)) return whole;
  url.searchParams.set('sslmode', 'verify-full');
  return whole.replace(/(\?.*)?$/, () => url.search);
}

export const DATABASE_URL: Variable<string> = {
  parse: databaseUrl,
  constraint:
    'a URL such as postgres://user:password@host:5432/database, special characters percent-encoded',
  mistakes: databaseUrlMistakes,
};

/** Mistakes in the parts of a database URL. Each completes the sentence "DATABASE_URL must …". */
export function databaseUrlMistakes(raw: string): string[] {
  const { hosts, ports, urls, parameters } = partsOf(withoutLogin(raw));
  const mistakes: string[] = [];
  if (!hosts.every((host) => isHost(host) && (host !== '' || hosts.length === 1))) {
    mistakes.push('name a host such as db.example.com, or several hosts separated by commas');
  }
  if (![1, hosts.length].includes(ports.length) || ![1, hosts.length].includes(urls.length)) {
    mistakes.push('name one port, or a port for each host');
  }
  // The driver would read only the leading digits.
  if (!ports.every((port) => port === '' || PORT.parse(port) !== undefined)) {
    mistakes.push('name ports from 1 to 65535');
  }
  if (parameters['sslrootcert'] === SYSTEM && !isVerified(parameters)) {
    mistakes.push(`have sslmode=verify-full with sslrootcert=${SYSTEM}`);
  }
  for (const [name, value] of new URL(urls[0]).searchParams) {
    const values = VALUES[name];
    if (!PARAMETERS.includes(name)) {
      const known = PARAMETERS.join(', ');
      mistakes.push(`not have the parameter ${JSON.stringify(name)}, only ${known}`);
    } else if (values !== undefined && !values.includes(value)) {
      mistakes.push(`have one of ${values.join(', ')} as its ${name}`);
    } else if (TIMEOUTS.has(name) && TIMEOUT.parse(value) === undefined) {
      mistakes.push(`have a number of milliseconds as its ${name}`);
    }
  }
  return mistakes;
}

/**
 * Mistakes in variables of libpq, which the driver applies if the URL says nothing, but reads in another way: the
 * `PGSSLMODE` `prefer` as `verify-full` and `allow` as `disable`, several hosts as one, and only the leading digits
 * of a port. `PGREPLICATION` is no variable of libpq.
 */
export function libpqMistakes(
  url: string | undefined,
  { PGSSLMODE, PGHOST, PGPORT, PGREPLICATION }: Readonly<NodeJS.ProcessEnv>,
): string[] {
  if (url === undefined) return [];
  const { hosts, urls, parameters } = partsOf(url);
  const { ssl, sslmode, port } = parameters;
  const mistakes: string[] = [];
  if (PGSSLMODE && !ssl && !sslmode && !SSL_MODES.includes(PGSSLMODE)) {
    mistakes.push(`PGSSLMODE must be one of ${SSL_MODES.join(', ')}`);
  }
  if (PGHOST && hosts.every((host) => host === '') && !isHost(PGHOST)) {
    mistakes.push('PGHOST must be one host: several belong in DATABASE_URL');
  }
  const hasPort = port || urls.every((each) => new URL(each).port !== '');
  if (PGPORT && !hasPort && PORT.parse(PGPORT) === undefined) {
    mistakes.push('PGPORT must be a port from 1 to 65535');
  }
  if (PGREPLICATION) mistakes.push('PGREPLICATION must not be set');
  return mistakes;
}

/** Whether a certificate must name the host. */
function isVerified(parameters: UrlParameters): boolean {
  const { ssl = 'true', sslmode } = parameters;
  if (sslmode === undefined) return ssl === 'true' || ssl === '1';
  return sslmode === 'verify-full' || isRaised(parameters);
}

/** Whether pg takes a mode for `verify-full` that libpq does not. */
function isRaised({ sslmode, uselibpqcompat }: UrlParameters): boolean {
  return uselibpqcompat !== 'true' && (sslmode === 'require' || sslmode === 'verify-ca');
}

/**
 * Splits a URL with several hosts, which pg cannot parse (PostgreSQL manual, chapter 32.1.1.3). As in libpq, the
 * parameters `host` and `port` override the hosts and ports in front of the path.
 *
 * Unless `target_session_attrs` says otherwise, several hosts are like `read-write`: one of them is the primary.
 */
export function databaseServers(raw: string): DatabaseServers {
  const { hosts, ports, urls, parameters } = partsOf(raw);
  const [firstUrl] = urls;
  const isList = hosts.length > 1;
  const servers = hosts.map((host, index) => {
    const url = new URL(urls[index] ?? firstUrl);
    if (parameters['host']) url.searchParams.set('host', host);
    if (parameters['port']) url.searchParams.set('port', ports[index] ?? ports[0]!);
    return url.href;
  });
  const { target_session_attrs: target = isList ? 'read-write' : 'primary' } = parameters;
  return {
    urls: isList ? (servers as [string, ...string[]]) : [raw],
    mustWrite: target === 'read-write',
  };
}

/** The lists in a URL. `urls` has one URL for each host in front of the path, `ports` the values of the parameter. */
function partsOf(raw: string) {
  const urls = splitAuthority(raw);
  const parameters = lastValues(new URL(urls[0]));
  const { host, port = '' } = parameters;
  const hosts = host
    ? host.split(',')
    : urls.map((url) => decodeURIComponent(new URL(url).hostname).replace(/^\[(.*)\]$/, '$1'));
  return { hosts, ports: port.split(','), urls, parameters };
}

/** As in pg, the last value of a parameter counts. */
function lastValues({ searchParams }: URL): UrlParameters {
  return Object.fromEntries(searchParams);
}

/** Moves user, password and port of a URL with an empty host to its parameters, which override them anyway. */
function withoutLogin(raw: string): string {
  const [before, scheme, user = '', password = '', port = ''] = NO_HOST.exec(raw) ?? [];
  if (before === undefined || before === scheme) return raw;
  const url = new URL(`${scheme}${raw.slice(before.length)}`);
  for (const [name, value] of Object.entries({ user, password, port })) {
    if (value === '' || url.searchParams.get(name)) continue;
    url.searchParams.set(name, decodeURIComponent(value));
  }
  return url.href;
}

function splitAuthority(raw: string): [string, ...string[]] {
  const [, before, hosts, after] = PARTS.exec(raw) ?? [];
  if (hosts === undefined) return [raw];
  return hosts.split(',').map((host) => `${before}${host}${after}`) as [string, ...string[]];
}

/** Without a host, the driver uses its default. */
function isHost(host: string): boolean {
  if (host === '' || host.startsWith('/') || isIP(host)) return true;
  return /^[\p{L}\p{M}\p{N}_-]{1,63}(\.[\p{L}\p{M}\p{N}_-]{1,63})*\.?$/u.test(host);
}

function isEncoded(raw: string): boolean {
  try {
    decodeURIComponent(raw);
    return true;
  } catch {
    return false;
  }
}
