import { readFileSync, statSync } from 'node:fs';
import type { VariableType } from './variable-types.js';

export interface Variable<Value = unknown> extends VariableType<Value> {
  /** Further mistakes in a text that `parse` accepts. Each completes the sentence "NAME must …". */
  readonly mistakes?: (raw: string) => readonly string[];
  /** Parsed when the variable is unset or empty. */
  readonly fallback?: string;
  readonly isRequired?: boolean;
  /** Whether white space around the text belongs to the value. */
  readonly isVerbatim?: boolean;
  /**
   * Whether the value may be in a file, named by the variable with the suffix `_FILE`. An optional file may be empty or
   * missing.
   */
  readonly file?: 'required' | 'optional';
}

type Variables = Readonly<Record<string, Variable>>;

export type Values<Table extends Variables> = {
  readonly [Name in keyof Table]:
    | Exclude<ReturnType<Table[Name]['parse']>, undefined>
    | (Table[Name] extends { fallback: string } ? never : undefined);
};

export interface Reading<Value = unknown> {
  readonly value: Value;
  /** Sentences that contain no value. If there are any, the value is not valid. */
  readonly mistakes: readonly string[];
}

export const MAX_SIZE = 65_536;

/**
 * Reads variables, or the files that variables with the suffix `_FILE` name. Surrounding white space is left out, because
 * shells and editors leave it there: `set NODE_ENV=production && …` on Windows sets `production` with a space.
 */
export function readVariables<Table extends Variables>(
  table: Table,
  environment: Readonly<NodeJS.ProcessEnv>,
) {
  const values: Record<string, unknown> = {};
  const files: Record<string, string> = {};
  const all: string[] = [];
  for (const [name, variable] of Object.entries(table)) {
    const path = variable.file && environment[`${name}_FILE`]?.trim();
    const text = trimmed(variable, environment[name] ?? '');
    const { value, mistakes } = path
      ? readFile(name, variable, path)
      : parsed(variable, text || variable.fallback, name);
    values[name] = value;
    all.push(...mistakes);
    if (path) files[name] = path;
    if (path && text) all.push(`${name} and ${name}_FILE must not both be set`);
  }
  return { values: values as Partial<Values<Table>>, files, mistakes: all };
}

/** Synchronous, because the file is small and seldom read. */
export function readFile(name: string, variable: Variable, path: string): Reading {
  let content = '';
  try {
    const file = statSync(path);
    if (!file.isFile() || file.size > MAX_SIZE) return unreadable(name);
    // Without a byte order mark and the last newline.
    content = readFileSync(path, 'utf8').replace(/^\ufeff|\r?\n$/g, '');
  } catch (error) {
    const isMissing = (error as NodeJS.ErrnoException).code === 'ENOENT';
    if (!isMissing || variable.file !== 'optional') return unreadable(name);
  }
  const text = trimmed(variable, content);
  const isUnset = text === '' && variable.file === 'optional';
  return parsed(variable, isUnset ? undefined : text, `the content of ${name}_FILE`);
}

function unreadable(name: string): Reading {
  const mistake = `${name}_FILE must name a file that can be read and has at most 64 KB`;
  return { value: undefined, mistakes: [mistake] };
}

function trimmed({ isVerbatim = false }: Variable, raw: string): string {
  return isVerbatim ? raw : raw.trim();
}

function parsed(variable: Variable, raw: string | undefined, subject: string): Reading {
  if (raw === undefined) {
    return { value: undefined, mistakes: variable.isRequired ? [`${subject} must be set`] : [] };
  }
  try {
    const value = variable.parse(raw);
    const mistakes = variable.mistakes?.(raw) ?? [];
    if (value !== undefined)
      return { value, mistakes: mistakes.map((mistake) => `${subject} must ${mistake}`) };
  } catch {
    // A timer reads files of secrets: an error would end the process, and its message would have the value.
  }
  return { value: undefined, mistakes: [`${subject} must be ${variable.constraint}`] };
}
