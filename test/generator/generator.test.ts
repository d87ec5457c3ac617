import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { cp, mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { linkPackages } from '../support/installed-packages.js';

/* CONTRIBUTING.md, "Add a resource", from the first command to the last. */

const run = promisify(execFile);

let project: string;

/** Runs a command of npm in the copy. Fails with what it printed. */
async function npm(...words: readonly string[]): Promise<string> {
  try {
    const environment = { ...process.env, NODE_ENV: undefined, VITEST: undefined };
    return (await run('npm', words, { cwd: project, env: environment })).stdout;
  } catch (error) {
    const { stdout, stderr } = error as { readonly stdout: string; readonly stderr: string };
    const output = `${stdout.slice(-4_000)}\n${stderr.slice(-4_000)}`;
    throw new Error(`npm ${words.join(' ')}\n${output}`, { cause: error });
  }
}

beforeAll(async () => {
  project = await mkdtemp(join(tmpdir(), 'plant-store-generator-'));
  const { stdout } = await run('git', ['ls-files', '--cached', '--others', '--exclude-standard']);
  // The compiler takes what is compiled already, if the sources are as they were.
  const compiled = (await readdir('packages')).map((name) => `packages/${name}/build`);
  for (const file of [...stdout.trimEnd().split('\n'), ...compiled.filter(existsSync)]) {
    await cp(file, join(project, file), { recursive: true, preserveTimestamps: true });
  }
  await rm(join(project, 'node_modules'), { recursive: true, force: true });
  await linkPackages(project);
});

afterAll(() => rm(project, { recursive: true, force: true }));

describe('the command refuses', () => {
  it.each([
    ['no name', [], 'usage: npm run generate'],
    ['nothing', ['', ''], 'usage: npm run generate'],
    ['upper case', ['Orchard', 'orchards'], 'usage: npm run generate'],
    ['a hyphen', ['orchard-', 'orchards'], 'usage: npm run generate'],
    ['a digit', ['orchard', '2orchards'], 'usage: npm run generate'],
    ['a path', ['orchard', '../orchards'], 'usage: npm run generate'],
    ['a keyword', ['class', 'classes'], 'class cannot be the name of a resource'],
    ['what each object has', ['constructor', 'constructors'], 'constructor cannot be the name'],
    ['a name of the framework', ['feed', 'feeds'], 'feed cannot be the name of a resource'],
    ['a path of the framework', ['doc', 'docs'], 'docs cannot be the name of a resource'],
    ['a resource that exists', ['plant', 'plants'], 'src/plants/plant.entity.ts exists already'],
    ['its name in the singular', ['plant', 'flora'], 'src/plants/plant.entity.ts exists already'],
    ['the example', ['garden', 'gardens'], 'examples/gardens/garden.entity.ts exists already'],
    ['a path that exists', ['swap', 'changes'], 'the service has the path /changes already'],
    ['a folder of tests', ['seed', 'database'], 'test/database exists already'],
  ])('%s, and writes nothing', async (_, names, message) => {
    const places = ['src', 'test', 'docs'].map((name) => join(project, name));
    const filesOf = () => Promise.all(places.map((place) => readdir(place, { recursive: true })));
    const before = await filesOf();
    await expect(
      run(process.execPath, ['examples/generate-resource.js', ...names], { cwd: project }),
    ).rejects.toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/^.+\n$/) as string,
      message: expect.stringContaining(message) as string,
    });
    expect(await filesOf()).toEqual(before);
  });
});

describe('a generated resource', () => {
  it('is written, with its documents', async () => {
    expect(await npm('run', 'generate', '--', 'orchard', 'orchards')).toContain('src/orchards');
  });

  it('is in use', async () => {
    const app = await readFile(join(project, 'src/app.module.ts'), 'utf8');
    expect(app).toContain("import { OrchardsModule } from './orchards/orchards.module.js';");
    expect(app).toMatch(/imports: \[[^\]]*\bOrchardsModule\b/);
  });

  it('imports nothing of the project but its own files and the framework', async () => {
    const folder = join(project, 'src/orchards');
    const names = await readdir(folder, { recursive: true });
    const files = names.filter((name) => name.endsWith('.ts'));
    expect(files).toContain('orchards.repository.ts');
    const texts = files.map((name) => readFile(join(folder, name), 'utf8'));
    for (const [at, text] of (await Promise.all(texts)).entries()) {
      expect(text).not.toMatch(/garden|#region|#endregion/i);
      const imported = [...text.matchAll(/ from '(.+)'/g)].map(([, path]) => path!);
      const depth = files[at]!.split('/').length - 1;
      const outside = imported.filter(
        (path) =>
          path.split('../').length - 1 > depth || path.startsWith('@resource-service/framework/'),
      );
      expect(outside).toEqual([]);
    }
  });

  it.each(['format:check', 'lint', 'types'])('passes npm run %s', async (script) => {
    await npm('run', script);
  });

  it('passes its own tests, and the tests of all resources', async () => {
    const files = ['orchards', 'resources/resources', 'operations', 'openapi', 'scopes'];
    await npm('test', '--', ...files, 'resources/modules', 'documentation', 'database/grants');
  });
});
