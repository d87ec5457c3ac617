import { validateHeaderName, validateHeaderValue } from 'node:http';
import { isIP } from 'node:net';

/* Each parser returns the value of a variable, or `undefined` if the text is not valid. */

export function text(raw: string): string | undefined {
  return raw.trim() === '' ? undefined : raw;
}

export function printable(raw: string): string | undefined {
  return /^[ -~]+$/.test(raw) ? raw : undefined;
}

/** PostgreSQL cuts longer names (manual, chapter 4.1.1). */
export function roleName(raw: string): string | undefined {
  return Buffer.byteLength(raw) <= 63 ? text(raw) : undefined;
}

export function boolean(raw: string): boolean | undefined {
  if (raw === 'true') return true;
  return raw === 'false' ? false : undefined;
}

export function integerWithin(min: number, max: number) {
  return (raw: string): number | undefined => {
    const value = /^\d{1,10}$/.test(raw) ? Number(raw) : NaN;
    return value >= min && value <= max ? value : undefined;
  };
}

export function ratio(raw: string): number | undefined {
  return /^(0(\.\d+)?|1(\.0+)?)$/.test(raw) ? Number(raw) : undefined;
}

export function oneOf<const T extends string>(allowed: readonly T[]) {
  return (raw: string): T | undefined => allowed.find((value) => value === raw);
}

export function hostName(raw: string): string | undefined {
  return isIP(raw) || /^[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?$/.test(raw) ? raw : undefined;
}

/** Size in bytes, from 1 KiB to 100 MiB. */
export function byteSize(raw: string): number | undefined {
  const match = /^(\d{1,9})(b|kb|mb)$/i.exec(raw);
  if (!match) return undefined;
  const unit = { b: 1, kb: 1024, mb: 1024 ** 2 }[match[2]!.toLowerCase() as 'b' | 'kb' | 'mb'];
  const bytes = Number(match[1]) * unit;
  return bytes >= 1024 && bytes <= 100 * 1024 ** 2 ? bytes : undefined;
}

/** From 1 to 3650 days, in milliseconds. */
export function days(raw: string): number | undefined {
  const [, number] = /^(\d{1,4})d$/.exec(raw) ?? [];
  const value = Number(number);
  return value >= 1 && value <= 3_650 ? value * 86_400_000 : undefined;
}

/** The syntax of a bearer token (`b64token`, RFC 6750, section 2.1). */
export const B64TOKEN = /^[A-Za-z0-9\-._~+/]+=*$/;

export function staticToken(raw: string): string | undefined {
  return raw.length >= 32 && B64TOKEN.test(raw) ? raw : undefined;
}

/** Stricter than RFC 6749, appendix A.1, because a space is a mistake of copying. */
export function clientId(raw: string): string | undefined {
  return /^[!-~]+$/.test(raw) ? raw : undefined;
}

/**
 * Whether a service can require the text as a scope: the syntax of RFC 6749, section 3.3, with a colon, and without
 * commas, because lists separated by commas are a usual mistake.
 */
export function isRequirableScope(raw: string): boolean {
  return /^[!#-+\--[\]-~]+$/.test(raw) && /.:./.test(raw);
}

/** No scope can have the name `none`. */
export function scopes(raw: string): readonly string[] | undefined {
  const list = raw.split(/\s+/).filter((scope) => scope !== '');
  if (list.length === 1 && list[0] === 'none') return [];
  return list.length > 0 && list.every(isRequirableScope) ? list : undefined;
}

/** Returns text, because issuers are compared character by character (OpenID Connect Discovery, section 4.3). */
export function issuerUrl(raw: string): string | undefined {
  return secureUrl(raw)?.search === '' ? raw : undefined;
}

export function secureUrl(raw: string): URL | undefined {
  const url = parseUrl(raw);
  const isSecure =
    url?.protocol === 'https:' || (url?.protocol === 'http:' && isLoopback(url.hostname));
  return isSecure ? url : undefined;
}

/** The path becomes a route prefix, so it must not contain special characters of route patterns. */
export function publicUrl(raw: string): URL | undefined {
  const url = httpUrl(raw);
  if (url === undefined) return undefined;
  return /^(\/[A-Za-z0-9._~-]+)*\/?$/.test(url.pathname) ? url : undefined;
}

export function origins(raw: string): readonly string[] | undefined {
  const list = listOf(raw);
  return list.every((origin) => isOrigin(origin)) ? list : undefined;
}

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
export function trustedProxies(raw: string): number | readonly string[] | undefined {
  const hops = integerWithin(0, 100)(raw);
  if (hops !== undefined) return hops;
  const list = listOf(raw);
  return list.length > 0 && list.every(isProxyAddress) ? list : undefined;
}

function isProxyAddress(entry: string): boolean {
  if (['loopback', 'linklocal', 'uniquelocal'].includes(entry)) return true;
  const [address = '', prefix, ...rest] = entry.split('/');
  const family = isIP(address);
  if (family === 0 || rest.length > 0) return false;
  return prefix === undefined || integerWithin(1, family === 4 ? 32 : 128)(prefix) !== undefined;
}

/** @param hostname of a `URL`, which normalizes IP addresses */
export function isLoopback(hostname: string): boolean {
  return /^(localhost|127(\.\d+){3}|\[::1\])$/.test(hostname);
}

function listOf(raw: string): string[] {
  return raw
    .split(',')
    .map((entry) => entry.trim())
    .filter((entry) => entry !== '');
}

export function httpUrl(raw: string): URL | undefined {
  const url = parseUrl(raw);
  const isHttp = url?.protocol === 'http:' || url?.protocol === 'https:';
  return isHttp && !raw.includes('?') ? url : undefined;
}

/** Pairs of names and values, percent-encoded (OpenTelemetry, "Specifying headers via environment variables"). */
export function headerList(raw: string): readonly string[] | undefined {
  const list = listOf(raw);
  return list.length > 0 && list.every((entry) => isHeader(entry)) ? list : undefined;
}

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

export function isEncoded(raw: string): boolean {
  try {
    decodeURIComponent(raw);
    return true;
  } catch {
    return false;
  }
}

/**
 * A URL without user, password and fragment. `URL` leaves out tabs and line ends, and reads a backslash as a slash,
 * unlike a comparison or a receiver of the text.
 */
function parseUrl(raw: string): URL | undefined {
  const url = URL.canParse(raw) && !/[\s\\]/.test(raw) ? new URL(raw) : undefined;
  return url?.username || url?.password || raw.includes('#') ? undefined : url;
}
