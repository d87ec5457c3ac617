import { open } from 'node:fs/promises';
import type { FileHandle } from 'node:fs/promises';
import { parse, sep } from 'node:path';
import { CommandError, EXIT } from './command-error.js';

/** A file of lines that is made with the first of them, and never in place of an existing file. */
export class NewFile {
  private file: FileHandle | undefined;
  private isBroken = false;

  /** @param path if it exists, a number is added to the name */
  constructor(
    private path: string,
    private readonly content: string,
  ) {}

  /** The name of the file, if there was any line and all of them could be written. */
  get name(): string | undefined {
    return this.isBroken ? undefined : this.file && this.path;
  }

  /** Does nothing after an error, which is a CommandError. */
  async append(header: Buffer, added: readonly Buffer[]): Promise<void> {
    if (added.length === 0 || this.isBroken) return;
    try {
      const lines = added.map(withLineEnd);
      if (this.file === undefined) {
        this.file = await this.create();
        if (header.length > 0) lines.unshift(withLineEnd(header));
      }
      await this.file.appendFile(Buffer.concat(lines));
    } catch (error) {
      this.isBroken = true;
      const reason = (error as NodeJS.ErrnoException).code;
      throw new CommandError(
        EXIT.incomplete,
        `${this.content} cannot be written to ${this.path}: ${reason}`,
      );
    }
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
function withLineEnd(line: Buffer): Buffer {
  const last = line.at(-1);
  return last === 0x0a || last === 0x0d ? line : Buffer.concat([line, Buffer.from('\n')]);
}
