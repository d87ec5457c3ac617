import { isIP } from 'node:net';

/** Parameters with a fixed set of values. `sslmode` lacks `allow` and `prefer`: pg cannot fall back to no TLS. */
const VALUES: Readonly<Record<string, readonly string[]>> = {
  ssl: ['true', '1', '0', 'no-verify'],
  sslmode: ['disable', 'require', 'verify-ca', 'verify-full', 'no-verify'],
  sslnegotiation: ['postgres', 'direct'],
  // The service needs a primary.
  target_session_attrs: ['read-write', 'primary'],
  uselibpqcompat: ['true', 'false'],
};

/**
 * The parameters that pg honours (`pg-connection-string`, pg's `ConnectionParameters`), and `target_session_attrs`, which
 * the service itself applies. Others would be ignored. Timeouts such as `statement_timeout` are missing on purpose,
 * because they would override the service's own.
 */
const PARAMETERS =
  `application_name host idle_in_transaction_session_timeout lock_timeout options password port ssl
  sslcert sslkey sslmode sslnegotiation sslrootcert target_session_attrs user uselibpqcompat`.split(
    /\s+/,
  );

/** What is before the hosts of a URL, the hosts, and what is behind them. */
const PARTS = /^([^/?#]+:\/\/(?:[^/?#]*@)?)([^/?#]*)(.*)$/s;

/** The servers of a database URL. */
export interface DatabaseServers {
  /** One URL for each host. */
  readonly urls: readonly [string, ...string[]];
  /** Whether a server counts as the primary only if its sessions can write. */
  readonly mustWrite: boolean;
}

/**
 * Returns the URL with an explicit `sslmode`: unless `uselibpqcompat` is set, pg treats `require` and `verify-ca` as
 * `verify-full`, and prints a warning that this will change.
 */
export function databaseUrl(raw: string): string | undefined {
  const urls = splitAuthority(raw);
  if (!urls.every((url) => URL.canParse(url)) || !isEncoded(raw)) return undefined;
  const url = new URL(urls[0]);
  if (!['postgres:', 'postgresql:'].includes(url.protocol)) return undefined;
  // Probably the rest of a password with an unencoded `?` or `#`. It must not appear in messages as a parameter.
  if (url.search.includes('@') || url.hash !== '') return undefined;
  // Probably the rest of a password with an unencoded `/`, the first part of which would appear as hosts.
  if (urls.length > 1 && url.pathname.includes('@')) return undefined;
  const parameters = url.searchParams;
  if (parameters.get('uselibpqcompat') === 'true') return raw;
  if (!/^(require|verify-ca)$/.test(parameters.getAll('sslmode').at(-1) ?? '')) return raw;
  parameters.set('sslmode', 'verify-full');
  return raw.replace(/\?.*$/s, url.search);
}

/** Mistakes in the parts of a database URL. Each completes the sentence "DATABASE_URL must …". */
export function databaseUrlMistakes(raw: string): string[] {
  const { hosts, ports, urls } = partsOf(raw);
  const mistakes: string[] = [];
  if (!hosts.every((host) => isHost(host) && (host !== '' || hosts.length === 1))) {
    mistakes.push('name a host such as db.example.com, or several hosts separated by commas');
  }
  if (![1, hosts.length].includes(ports.length) || ![1, hosts.length].includes(urls.length)) {
    mistakes.push('name one port, or a port for each host');
  }
  for (const [name, value] of new URL(urls[0]).searchParams) {
    const values = VALUES[name];
    if (!PARAMETERS.includes(name)) {
      const known = PARAMETERS.join(', ');
      mistakes.push(`not have the parameter ${JSON.stringify(name)}, only ${known}`);
    } else if (values !== undefined && !values.includes(value)) {
      mistakes.push(`have one of ${values.join(', ')} as its ${name}`);
    }
  }
  return mistakes;
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
  // As in pg, the last value of a parameter counts.
  const parameters: Partial<Record<string, string>> = Object.fromEntries(
    new URL(urls[0]).searchParams,
  );
  const { host, port = '' } = parameters;
  const hosts = host
    ? host.split(',')
    : urls.map((url) => decodeURIComponent(new URL(url).hostname));
  return { hosts, ports: port.split(','), urls, parameters };
}

/** One URL for each host in front of the path. */
function splitAuthority(raw: string): [string, ...string[]] {
  const [, before, hosts, after] = PARTS.exec(raw) ?? [];
  if (hosts === undefined) return [raw];
  return hosts.split(',').map((host) => `${before}${host}${after}`) as [string, ...string[]];
}

function isEncoded(raw: string): boolean {
  try {
    decodeURIComponent(raw);
    return true;
  } catch {
    return false;
  }
}

/** Whether the text can be a host. Without a host, the driver uses its default. */
function isHost(host: string): boolean {
  if (host === '' || host.startsWith('/') || isIP(host.replace(/^\[(.*)\]$/, '$1'))) return true;
  return /^[\p{L}\p{M}\p{N}_-]{1,63}(\.[\p{L}\p{M}\p{N}_-]{1,63})*\.?$/u.test(host);
}
