import { isIP } from 'node:net';

/* What `DATABASE_URL` may ask for, so that nothing it asks for is ignored. */

/**
 * The parameters that pg honours (`pg-connection-string`, pg's `ConnectionParameters`), with their values
 * where these are few. Not `statement_timeout`, `query_timeout` and the like, which would undo bounds of ours.
 */
const PARAMETERS = new Map<string, readonly string[] | undefined>([
  ['application_name', undefined],
  ['host', undefined],
  ['idle_in_transaction_session_timeout', undefined],
  ['lock_timeout', undefined],
  ['options', undefined],
  ['password', undefined],
  ['port', undefined],
  ['ssl', ['true', '1', '0', 'no-verify']],
  ['sslcert', undefined],
  ['sslkey', undefined],
  // `allow` and `prefer` would go on without TLS, which pg cannot do.
  ['sslmode', ['disable', 'require', 'verify-ca', 'verify-full', 'no-verify']],
  ['sslnegotiation', ['postgres', 'direct']],
  ['sslrootcert', undefined],
  ['user', undefined],
  ['uselibpqcompat', ['true', 'false']],
]);

/**
 * A URL that leaves nothing to interpretation: pg takes `require` and `verify-ca` for `verify-full`, unless
 * told to be like libpq, and prints a warning that this is to change.
 */
export function databaseUrl(raw: string): string | undefined {
  if (!URL.canParse(raw) || !isEncoded(raw)) return undefined;
  const url = new URL(raw);
  if (!['postgres:', 'postgresql:'].includes(url.protocol)) return undefined;
  // The rest of a password with a `?` or a `#` in it, which must not be taken for parameters and named.
  if (url.search.includes('@') || url.hash !== '') return undefined;
  const parameters = url.searchParams;
  if (parameters.get('uselibpqcompat') === 'true') return raw;
  if (!/^(require|verify-ca)$/.test(parameters.getAll('sslmode').at(-1) ?? '')) return raw;
  parameters.set('sslmode', 'verify-full');
  return url.href;
}

/** What is wrong with the parts of a database URL, each to complete the sentence "DATABASE_URL must …". */
export function databaseUrlMistakes(raw: string): string[] {
  const { hostname, searchParams } = new URL(raw);
  const mistakes: string[] = [];
  if (!isHost(searchParams.get('host') || decodeURIComponent(hostname))) {
    mistakes.push('name one host, such as db.example.com');
  }
  for (const [name, value] of searchParams) {
    const values = PARAMETERS.get(name);
    if (!PARAMETERS.has(name)) {
      const known = [...PARAMETERS.keys()].join(', ');
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

/** Whether it can be one; none is the default of the driver. */
function isHost(host: string): boolean {
  if (host === '' || host.startsWith('/') || isIP(host.replace(/^\[(.*)\]$/, '$1'))) return true;
  return /^[\p{L}\p{M}\p{N}_-]{1,63}(\.[\p{L}\p{M}\p{N}_-]{1,63})*\.?$/u.test(host);
}
