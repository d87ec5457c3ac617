import { readFileSync, statSync } from 'node:fs';

/** Variables whose value may be in a file, named by the variable with the suffix `_FILE`. */
export const SECRET_NAMES = [
  'AUTH_TOKEN',
  'AUTH_TOKEN_PREVIOUS',
  'DATABASE_URL',
  'DATABASE_SERVICE_PASSWORD',
] as const;

export type SecretName = (typeof SECRET_NAMES)[number];

/** The `_FILE` variable of each secret in a file. */
export type SecretFiles = Readonly<Partial<Record<SecretName, Readonly<NodeJS.ProcessEnv>>>>;

export interface Variable {
  /** Returns `undefined` if the text is not valid. */
  readonly parse: (text: string) => unknown;
  /** Completes the sentence "NAME must be …". */
  readonly rule: string;
  /** Further mistakes in a text that `parse` accepts. Each completes the sentence "NAME must …". */
  readonly mistakes?: (text: string) => string[];
  /** Parsed when the variable is unset or empty. */
  readonly fallback?: string;
  /** Whether spaces around the text belong to the value. */
  readonly isVerbatim?: boolean;
}

export interface Reading<Value> {
  readonly value: Value;
  /** Sentences that contain no value. If there are any, the value is not valid. */
  readonly mistakes: readonly string[];
}

export const MAX_SIZE = 65_536;

/**
 * Reads a variable, or the file that the variable with the suffix `_FILE` names. Surrounding white space is left out,
 * because shells and editors leave it there: `set NODE_ENV=production && …` on Windows sets `production` with a
 * space.
 */
export function readVariable(
  environment: Readonly<NodeJS.ProcessEnv>,
  name: string,
  variable: Variable,
): Reading<unknown> {
  const path = isSecret(name) ? environment[`${name}_FILE`]?.trim() : undefined;
  const given = trimmed(variable, environment[name] ?? '');
  if (!path) return parsed(variable, given || variable.fallback, name);
  if (given) return rejected(`${name} and ${name}_FILE must not both be set`);
  // Otherwise, the end of each rotation would need a change of the deployment.
  const isOptional = name === 'AUTH_TOKEN_PREVIOUS';
  const content = readSmallFile(path, isOptional);
  if (content === undefined) {
    return rejected(`${name}_FILE must name a file that can be read and has at most 64 KB`);
  }
  const value = trimmed(variable, content);
  const text = isOptional && value === '' ? undefined : value;
  return parsed(variable, text, `the content of ${name}_FILE`);
}

function trimmed({ isVerbatim = false }: Variable, text: string): string {
  return isVerbatim ? text : text.trim();
}

function parsed(variable: Variable, text: string | undefined, subject: string): Reading<unknown> {
  if (text === undefined) return { value: undefined, mistakes: [] };
  const mistakesOf = (...rules: readonly string[]) =>
    rules.map((rule) => `${subject} must ${rule}`);
  try {
    const value = variable.parse(text);
    if (value !== undefined)
      return { value, mistakes: mistakesOf(...(variable.mistakes?.(text) ?? [])) };
  } catch {
    // A timer reads files of secrets: an error would end the process, and its message would have the value.
  }
  return { value: undefined, mistakes: mistakesOf(`be ${variable.rule}`) };
}

function rejected(mistake: string): Reading<undefined> {
  return { value: undefined, mistakes: [mistake] };
}

function isSecret(name: string): name is SecretName {
  return SECRET_NAMES.some((secret) => secret === name);
}

/**
 * The content without a byte order mark and the last newline; `undefined` if it cannot be read. Synchronous, because
 * the file is small and seldom read.
 *
 * @param isOptional whether a missing file counts as empty
 */
function readSmallFile(path: string, isOptional: boolean): string | undefined {
  try {
    const file = statSync(path);
    if (!file.isFile() || file.size > MAX_SIZE) return undefined;
    return readFileSync(path, 'utf8').replace(/^\ufeff|\r?\n$/g, '');
  } catch (error) {
    return isOptional && (error as NodeJS.ErrnoException).code === 'ENOENT' ? '' : undefined;
  }
}
