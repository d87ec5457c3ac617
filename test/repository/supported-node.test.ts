import { readFile } from 'node:fs/promises';
import { FileTypeValidator } from '@nestjs/common';
import fastify from 'fastify';
import { minVersion, satisfies } from 'semver';
import { describe, expect, it } from 'vitest';

/* npm warns about a package that does not support the Node.js at hand. `overrides` in package.json keep such
   packages at versions that do. */

interface Manifest {
  readonly engines?: { readonly node?: string };
}

async function read<T>(file: string): Promise<T> {
  return JSON.parse(await readFile(file, 'utf8')) as T;
}

describe('each package that npm installs', () => {
  it('supports each Node.js that the service supports', async () => {
    const { engines } = await read<{ engines: { node: string } }>('package.json');
    const oldest = engines.node.split('||').map((range) => minVersion(range)!.version);
    expect(oldest).toHaveLength(3);
    const { packages } = await read<{ packages: Record<string, Manifest> }>('package-lock.json');
    const unsupported = Object.entries(packages).flatMap(([name, manifest]) =>
      oldest
        .filter((version) => !satisfies(version, manifest.engines?.node ?? '*'))
        .map((version) => `${name} on Node.js ${version}`),
    );
    expect(unsupported).toEqual([]);
  });
});

describe('packages that `overrides` hold back', () => {
  it('file-type: Nest tells a file by its content', async () => {
    const png = Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex');
    const validator = new FileTypeValidator({ fileType: 'image/png' });
    const file = (buffer: Buffer) => ({ mimetype: 'image/png', size: buffer.length, buffer });
    expect(await validator.isValid(file(png))).toBe(true);
    expect(await validator.isValid(file(Buffer.from('%PDF-1.7\n')))).toBe(false);
  });

  it('cookie: Fastify injects requests with cookies', async () => {
    const app = fastify().get('/', (request) => Promise.resolve(request.headers.cookie));
    const { body } = await app.inject({ path: '/', cookies: { plant: 'Ficus' } });
    expect(body).toBe('plant=Ficus');
    await app.close();
  });
});
