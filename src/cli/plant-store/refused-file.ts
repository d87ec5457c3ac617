import { open } from 'node:fs/promises';
import type { FileHandle } from 'node:fs/promises';
import { parse, sep } from 'node:path';

/** A file of refused records. It is made with the first of them, and never in place of an existing file. */
export class RefusedFile {
  private file: FileHandle | undefined;

  /** @param path the file that is wanted; if it exists, a number is added to the name */
  constructor(private path: string) {}

  /** The name of the file, if any record was refused. */
  get name(): string | undefined {
    return this.file && this.path;
  }

  /** @param header what the file begins with */
  async append(header: Buffer, records: readonly Buffer[]): Promise<void> {
    if (records.length === 0) return;
    const lines = records.map(withLineEnd);
    if (this.file === undefined) {
      this.file = await this.create();
      if (header.length > 0) lines.unshift(withLineEnd(header));
    }
    await this.file.appendFile(Buffer.concat(lines));
  }

  async close(): Promise<void> {
    await this.file?.close();
  }

  private async create(): Promise<FileHandle> {
    const { dir, name, ext } = parse(this.path);
    for (let number = 2; ; number++) {
      try {
        return await open(this.path, 'wx');
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
        this.path = `${dir === '' ? '' : dir + sep}${name}-${number}${ext}`;
      }
    }
  }
}

/** The last record of a file may have none. */
function withLineEnd(record: Buffer): Buffer {
  const last = record.at(-1);
  return last === 0x0a || last === 0x0d ? record : Buffer.concat([record, Buffer.from('\n')]);
}
