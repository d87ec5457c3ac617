import { readFileSync } from 'node:fs';
import { parseEnv } from 'node:util';

/** @returns {Readonly<Record<string, string | undefined>>} what the service will read, which checks all of it */
export function startVariables() {
  return { ...parseEnv(textOf('.env').replaceAll('\uFEFF', '')), ...process.env };
}

/**
 * Empty if there is no such file.
 *
 * @param {string} file
 */
export function textOf(file) {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}
