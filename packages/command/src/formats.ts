import { extname } from 'node:path';
import { usageError } from './command-error.js';

export const FORMATS = ['ndjson', 'csv'] as const;

export type Format = (typeof FORMATS)[number];

const BY_EXTENSION: Readonly<Record<string, Format>> = {
  '.ndjson': 'ndjson',
  '.jsonl': 'ndjson',
  '.csv': 'csv',
};

export function formatByExtension(file: string): Format | undefined {
  return BY_EXTENSION[extname(file).toLowerCase()];
}

export function formatOf(file: string, given: Format | undefined): Format {
  const format = given ?? (file === '-' ? 'ndjson' : formatByExtension(file));
  if (format !== undefined) return format;
  throw usageError(`${file} ends in neither .ndjson, .jsonl nor .csv: set --format`);
}
