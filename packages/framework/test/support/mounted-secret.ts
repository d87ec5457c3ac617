import { mkdir, rename, symlink, unlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/**
 * The folder of a Secret as Kubernetes mounts it: each file is a link into `..data`, a link to the folder of the current
 * version. An update renames a new `..data` to the place of the old one, so that all files change at once.
 */
export class MountedSecret {
  private version = 0;
  private names: readonly string[] = [];

  private constructor(private readonly folder: string) {}

  static async create(
    folder: string,
    files: Readonly<Record<string, string>>,
  ): Promise<MountedSecret> {
    await mkdir(folder);
    const secret = new MountedSecret(folder);
    await secret.replace(files);
    return secret;
  }

  path(name: string): string {
    return join(this.folder, name);
  }

  async replace(files: Readonly<Record<string, string>>): Promise<void> {
    this.version += 1;
    const version = `..version-${this.version}`;
    const names = Object.keys(files);
    await mkdir(this.path(version));
    for (const name of names) await writeFile(this.path(join(version, name)), files[name]!);
    await symlink(version, this.path('..data_tmp'));
    await rename(this.path('..data_tmp'), this.path('..data'));
    for (const name of names) {
      if (!this.names.includes(name)) await symlink(`..data/${name}`, this.path(name));
    }
    for (const name of this.names) if (!names.includes(name)) await unlink(this.path(name));
    this.names = names;
  }
}
