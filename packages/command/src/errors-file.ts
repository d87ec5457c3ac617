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

/** A record that is not stored. */
export interface Refusal {
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
export class ErrorsFile {
  private readonly file: NewFile;
  private readonly format: Format;

  /** @throws CommandError unless the extension tells a format, and the folder exists */
  constructor(path: string) {
    const format = formatByExtension(path);
    if (format === undefined) {
      throw usageError(`--errors must end in .ndjson, .jsonl or .csv: ${path} does not`);
    }
    if (!statSync(dirname(path), { throwIfNoEntry: false })?.isDirectory()) {
      throw usageError(`--errors: there is no folder ${dirname(path)}`);
    }
    this.format = format;
    this.file = new NewFile(path, 'the errors');
  }

  get name(): string | undefined {
    return this.file.name;
  }

  /** @param input name of the file that the records are from */
  async append(input: string, refusals: readonly Refusal[]): Promise<void> {
    const lines = refusals.map(({ record, reason }) => {
      const { line } = record;
      const { error, message } = reason;
      const fields = { file: input, line, error, message };
      return this.format === 'csv' ? csvRecord(COLUMNS, fields) : `${JSON.stringify(fields)}\n`;
    });
    const header = this.format === 'csv' ? csvHeader(COLUMNS) : '';
    await this.file.append(
      Buffer.from(header),
      lines.map((line) => Buffer.from(line)),
    );
  }

  async close(): Promise<void> {
    await this.file.close();
  }
}
