import { validateHeaderName, validateHeaderValue } from 'node:http';
import { isIP } from 'node:net';

/** What the text of a variable must be, and the value that it stands for. */
export interface VariableType<Value = unknown> {
  /** Returns `undefined`, or throws, if the text is not valid. */
  readonly parse: (raw: string) => Value | undefined;
  /** Completes the sentence "NAME must be …". */
  readonly constraint: string;
}

function textThat(isValid: (raw: string) => boolean, constraint: string): VariableType<string> {
  return { parse: (raw) => (isValid(raw) ? raw : undefined), constraint };
}

export const TEXT = textThat(() => true, 'a text');

export const PRINTABLE = textThat((raw) => /^[ -~]+$/.test(raw), 'of printable ASCII characters');

/** PostgreSQL cuts longer names (manual, chapter 4.1.1). */
export const ROLE_NAME = textThat(
  (raw) => Buffer.byteLength(raw) <= 63,
  'the name of a role, at most 63 bytes',
);

/** What SQL reads alike with quotes and without. PostgreSQL keeps some names for itself. */
export const SCHEMA_NAME = textThat(
  (raw) => /^(?!pg_|information_schema$)[a-z_][a-z0-9_]{0,62}$/.test(raw),
  'the name of a schema of its own: 1 to 63 of the characters a-z 0-9 _, first no digit and not pg_',
);

export const BOOLEAN: VariableType<boolean> = {
  parse: (raw) => raw === 'true' || (raw === 'false' ? false : undefined),
  constraint: 'true or false',
};

export function integer(min: number, max: number, kind = 'an integer'): VariableType<number> {
  const parse = (raw: string) => {
    const value = /^\d{1,10}$/.test(raw) ? Number(raw) : NaN;
    return value >= min && value <= max ? value : undefined;
  };
  return { parse, constraint: `${kind}, ${min} to ${max}` };
}

export const PORT = integer(0, 65_535, 'a port number');

export const RATIO = textThat(
  (raw) => /^(0(\.\d+)?|1(\.0+)?)$/.test(raw),
  'a ratio from 0 to 1, such as 0.25',
);

export function oneOf<const T extends string>(allowed: readonly T[]): VariableType<T> {
  const parse = (raw: string) => allowed.find((value) => value === raw);
  return { parse, constraint: `one of ${allowed.join(', ')}` };
}

export const HOST_NAME = textThat(
  (raw) => isIP(raw) !== 0 || /^[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?$/.test(raw),
  'a host name or an IP address',
);

/** In bytes. */
export const SIZE: VariableType<number> = {
  parse: (raw) => {
    const [, digits, unit = ''] = /^(\d{1,9})(b|kb|mb)$/i.exec(raw) ?? [];
    const bytes = Number(digits) * 1024 ** ['b', 'kb', 'mb'].indexOf(unit.toLowerCase());
    return bytes >= 1024 && bytes <= 100 * 1024 ** 2 ? bytes : undefined;
  },
  constraint: 'a size from 1kb to 100mb, such as 512kb',
};

/** In milliseconds. */
export const DAYS: VariableType<number> = {
  parse: (raw) => {
    const value = /^\d{1,4}d$/.test(raw) ? parseInt(raw, 10) : NaN;
    return value >= 1 && value <= 3_650 ? value * 86_400_000 : undefined;
  },
  constraint: 'a number of days, such as 90d, at most 3650d',
};

/** The syntax of a bearer token (`b64token`, RFC 6750, section 2.1). */
export const B64TOKEN = /^[A-Za-z0-9\-._~+/]+=*$/;

export const STATIC_TOKEN = textThat(
  (raw) => raw.length >= 32 && B64TOKEN.test(raw),
  '32 or more of the characters A-Z a-z 0-9 - . _ ~ + / (and = at the end)',
);

/** Stricter than RFC 6749, appendix A.1, because a space is a mistake of copying. */
export const CLIENT_ID = textThat(
  (raw) => /^[!-~]+$/.test(raw),
  'a client id of printable ASCII characters, without spaces',
);

/**
 * Whether a service can require the text as a scope: the syntax of RFC 6749, section 3.3, with a colon, and without
 * commas, because lists separated by commas are a usual mistake.
 */
export function isRequirableScope(raw: string): boolean {
  return /^[!#-+\--[\]-~]+$/.test(raw) && /.:./.test(raw);
}

/** No scope can have the name `none`. */
export const SCOPES: VariableType<readonly string[]> = {
  parse: (raw) => {
    const list = raw === 'none' ? [] : raw.split(/\s+/);
    return list.every(isRequirableScope) ? list : undefined;
  },
  constraint: 'scopes such as tools:read tools:lend, separated by spaces, or none',
};

export function secureUrl(raw: string): URL | undefined {
  const url = parseUrl(raw);
  const isSecure =
    url?.protocol === 'https:' || (url?.protocol === 'http:' && isLoopback(url.hostname));
  return isSecure ? url : undefined;
}

export const SECURE_URL: VariableType<URL> = {
  parse: secureUrl,
  constraint: 'an https URL (http on loopback only) without fragment',
};

/** Text, because issuers are compared character by character (OpenID Connect Discovery, section 4.3). */
export const ISSUER = textThat(
  (raw) => secureUrl(raw)?.search === '',
  'an https URL (http on loopback only) without query or fragment',
);

function httpUrl(raw: string): URL | undefined {
  const url = parseUrl(raw);
  const isHttp = url?.protocol === 'http:' || url?.protocol === 'https:';
  return isHttp && !raw.includes('?') ? url : undefined;
}

export const HTTP_URL: VariableType<URL> = {
  parse: httpUrl,
  constraint:
    'an http or https URL without user, password and query, such as http://127.0.0.1:4318',
};

/** The path becomes a route prefix, so it must not contain special characters of route patterns. */
export function publicUrl(raw: string): URL | undefined {
  const url = httpUrl(raw);
  return url && /^(\/[A-Za-z0-9._~-]+)*\/?$/.test(url.pathname) ? url : undefined;
}

export const PUBLIC_URL: VariableType<URL> = {
  parse: publicUrl,
  constraint: 'an http or https URL without query, such as https://shop.example.com/api',
};

export const ORIGINS: VariableType<readonly string[]> = {
  parse: (raw) => listOf(raw, isOrigin),
  constraint:
    'origins such as https://app.example.com or capacitor://localhost, separated by commas',
};

/** Schemes whose pages have no origin that a browser sends: it sends `null` (HTML, "Origin"; URL, section 4.7). */
const OPAQUE = new Set(['about:', 'blob:', 'data:', 'file:', 'javascript:']);

/** Origins of apps whose pages are files, or resources of the program: Cordova, and Qt. Schemes of others have a host. */
const WITHOUT_HOST = new Set(['file://', 'qrc://']);

/**
 * Whether a text is an origin as browsers send it: scheme, host and an unusual port (RFC 6454, section 6.2). Apps and
 * extensions have schemes of their own, such as `capacitor://localhost`, whose origins `URL` does not know, and whose
 * hosts can have upper-case letters (Safari's extensions).
 */
function isOrigin(raw: string): boolean {
  if (WITHOUT_HOST.has(raw)) return true;
  const url = parseUrl(raw);
  if (url === undefined || OPAQUE.has(url.protocol)) return false;
  if (url.origin !== 'null') return url.origin === raw;
  // No wildcards: nothing would match them. `URL` writes schemes in lower case, as browsers do.
  return /^[\w.~[\]:-]+$/.test(url.host) && `${url.protocol}//${url.host}` === raw;
}

/** For Express's setting `trust proxy`. */
export const PROXIES: VariableType<number | readonly string[]> = {
  parse: (raw) => integer(0, 100).parse(raw) ?? listOf(raw, isProxyAddress),
  constraint:
    'a number of proxies, or addresses, networks, loopback, linklocal or uniquelocal, separated by commas',
};

function isProxyAddress(entry: string): boolean {
  if (['loopback', 'linklocal', 'uniquelocal'].includes(entry)) return true;
  const [address = '', prefix = '1', ...rest] = entry.split('/');
  const family = isIP(address);
  if (family === 0 || rest.length > 0) return false;
  return integer(1, family === 4 ? 32 : 128).parse(prefix) !== undefined;
}

/** Pairs of names and values, percent-encoded (OpenTelemetry, "Specifying headers via environment variables"). */
export const HEADERS: VariableType<readonly string[]> = {
  parse: (raw) => listOf(raw, isHeader),
  constraint: 'a list such as name=value,other=value, special characters percent-encoded',
};

function isHeader(entry: string): boolean {
  // Metadata follows a semicolon.
  const [, name, value] = /^([^=;]+)=([^;]*)/.exec(entry) ?? [];
  if (name === undefined || value === undefined) return false;
  try {
    validateHeaderName(decodeURIComponent(name.trim()));
    validateHeaderValue('a', decodeURIComponent(value.trim()));
    return true;
  } catch {
    return false;
  }
}

/** @param hostname of a `URL`, which normalizes IP addresses */
export function isLoopback(hostname: string): boolean {
  return /^(localhost|127(\.\d+){3}|\[::1\])$/.test(hostname);
}

function listOf(raw: string, isValid: (entry: string) => boolean): readonly string[] | undefined {
  const list = raw
    .split(',')
    .map((entry) => entry.trim())
    .filter((entry) => entry !== '');
  return list.length > 0 && list.every(isValid) ? list : undefined;
}

/**
 * A URL without user, password and fragment. `URL` leaves out tabs and line ends, and reads a backslash as a slash,
 * unlike a comparison or a receiver of the text.
 */
function parseUrl(raw: string): URL | undefined {
  const url = URL.canParse(raw) && !/[\s\\]/.test(raw) ? new URL(raw) : undefined;
  return url?.username || url?.password || raw.includes('#') ? undefined : url;
}
