import { isIP } from 'node:net';

/** Parameters with a fixed set of values. `sslmode` lacks `allow` and `prefer`: pg cannot fall back to no TLS. */
const VALUES: Readonly<Record<string, readonly string[]>> = {
  ssl: ['true', '1', '0', 'no-verify'],
  sslmode: ['disable', 'require', 'verify-ca', 'verify-full', 'no-verify'],
  sslnegotiation: ['postgres', 'direct'],
  uselibpqcompat: ['true', 'false'],
};

/**
 * The parameters that pg honours (`pg-connection-string`, pg's `ConnectionParameters`). pg would ignore others.
 * Timeouts such as `statement_timeout` are missing on purpose, because they would override the service's own.
 */
const PARAMETERS =
  `application_name host idle_in_transaction_session_timeout lock_timeout options password port ssl
  sslcert sslkey sslmode sslnegotiation sslrootcert user uselibpqcompat`.split(/\s+/);

/**
 * Returns the URL with an explicit `sslmode`: unless `uselibpqcompat` is set, pg treats `require` and `verify-ca` as
 * `verify-full`, and prints a warning that this will change.
 */
export function databaseUrl(raw: string): string | undefined {
  if (!URL.canParse(raw) || !isEncoded(raw)) return undefined;
  const url = new URL(raw);
  if (!['postgres:', 'postgresql:'].includes(url.protocol)) return undefined;
  // Probably the rest of a password with an unencoded `?` or `#`. It must not appear in messages as a parameter.
  if (url.search.includes('@') || url.hash !== '') return undefined;
  const parameters = url.searchParams;
  if (parameters.get('uselibpqcompat') === 'true') return raw;
  if (!/^(require|verify-ca)$/.test(parameters.getAll('sslmode').at(-1) ?? '')) return raw;
  parameters.set('sslmode', 'verify-full');
  return url.href;
}

/** Mistakes in the parts of a database URL. Each completes the sentence "DATABASE_URL must …". */
export function databaseUrlMistakes(raw: string): string[] {
  const { hostname, searchParams } = new URL(raw);
  const mistakes: string[] = [];
  if (!isHost(searchParams.get('host') || decodeURIComponent(hostname))) {
    mistakes.push('name one host, such as db.example.com');
  }
  for (const [name, value] of searchParams) {
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
