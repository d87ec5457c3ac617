import { statSync } from 'node:fs';
import { dirname } from 'node:path';
import { usageError } from './command-error.js';
import type { Reason } from './command-error.js';
import { csvHeader, csvRecord } from './csv/csv-record.js';
import { formatByExtension } from './formats.js';
import type { Format } from './formats.js';
import { NewFile } from './new-file.js';
import type { InputRecord } from './records.js';
import type { Column } from './resources.js';

export interface Rejection {
  readonly record: InputRecord;
  readonly reason: Reason;
}

const COLUMNS: readonly Column[] = [
  { name: 'file', type: 'text', isOptional: false },
  { name: 'line', type: 'integer', isOptional: false },
  { name: 'error', type: 'integer', isOptional: true },
  { name: 'message', type: 'text', isOptional: false },
];

/** Why records are refused, one record per line. Of all input files, in the order of the files of the records. */
export class ErrorsFile extends NewFile {
  private readonly format: Format;

  /** @throws CommandError unless the extension tells a format, and the folder exists */
  constructor(path: string) {
    super(path, 'the errors');
    const format = formatByExtension(path);
    if (format === undefined) {
      throw usageError(`--errors must end in .ndjson, .jsonl or .csv: ${path} does not`);
    }
    requireFolder('--errors', path);
    this.format = format;
  }

  /** @param file name of the input that the records are from */
  async add(file: string, rejections: readonly Rejection[]): Promise<void> {
    const isCsv = this.format === 'csv';
    const lines = rejections.map(({ record: { line }, reason: { error, message } }) => {
      const fields = { file, line, error, message };
      return Buffer.from(isCsv ? csvRecord(COLUMNS, fields) : `${JSON.stringify(fields)}\n`);
    });
    await this.append(Buffer.from(isCsv ? csvHeader(COLUMNS) : ''), lines);
  }
}

/** @throws CommandError */
export function requireFolder(option: string, path: string): void {
  const folder = dirname(path);
  if (statSync(folder, { throwIfNoEntry: false })?.isDirectory()) return;
  throw usageError(`${option}: there is no folder ${folder}`);
}
