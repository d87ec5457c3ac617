import { extname } from 'node:path';
import { usageError } from './command-error.js';

export const FORMATS = ['ndjson', 'csv'] as const;

export type Format = (typeof FORMATS)[number];

const BY_EXTENSION: Readonly<Record<string, Format>> = {
  '.ndjson': 'ndjson',
  '.jsonl': 'ndjson',
  '.csv': 'csv',
};

/** The format of a file. `-` is stdin or stdout. */
export function formatOf(file: string, given: Format | undefined): Format {
  const format = given ?? (file === '-' ? 'ndjson' : BY_EXTENSION[extname(file).toLowerCase()]);
  if (format !== undefined) return format;
  throw usageError(`${file} ends in neither .ndjson, .jsonl nor .csv: set --format`);
}
