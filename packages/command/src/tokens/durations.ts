import { InvalidArgumentError } from 'commander';
import type { Lifetime } from '@resource-service/framework/tokens';

const SECONDS: Readonly<Record<string, number>> = { d: 86_400, h: 3_600, m: 60, s: 1 };

const MAX_LIFETIME = 3_650 * 86_400;

/** Longest time for which a token may have two secrets. */
const MAX_GRACE = 90 * 86_400;

export function lifetime(text: string): Lifetime {
  if (text === 'never') return 'never';
  return duration(text, 1, MAX_LIFETIME, 'at most 3650d, such as 90d, 24h or 30m, or never');
}

export function grace(text: string): number {
  return duration(text, 0, MAX_GRACE, 'at most 90d, such as 24h or 30m');
}

/** In seconds. */
function duration(text: string, least: number, most: number, constraint: string): number {
  const [, count, unit = ''] = /^(\d{1,9})([dhms])$/.exec(text) ?? [];
  const seconds = Number(count) * (SECONDS[unit] ?? NaN);
  if (seconds >= least && seconds <= most) return seconds;
  requireUnit(text);
  throw new InvalidArgumentError(`It must be ${constraint}.`);
}

/** For a text such as `1y`. */
function requireUnit(text: string): void {
  const [, unit] = /^\d+ *(\D*)$/.exec(text) ?? [];
  if (unit === undefined || unit in SECONDS) return;
  const what = unit === '' ? 'It has no unit' : `There is no unit ${unit}`;
  throw new InvalidArgumentError(`${what}: d, h, m and s are days, hours, minutes and seconds.`);
}

/** Control characters in a name could change what a terminal shows. */
export function tokenName(text: string): string {
  if (/^[^\p{C}\p{Zl}\p{Zp}]{1,100}$/u.test(text) && text.trim() !== '') return text;
  throw new InvalidArgumentError(
    'It must have 1 to 100 characters, none of them a control character.',
  );
}
