import { execFile, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { delimiter, dirname, join, resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parseExactJson, toInteger } from '../../packages/framework/src/json/exact-json.js';
import { DOCUMENT as COMMITTED } from '../support/application.js';
import { callsOf, RESOURCES } from '../support/resources.js';
import { startTestService, TOKEN } from '../support/test-service.js';
import type { Answer, TestService } from '../support/test-service.js';

/* Clients as people generate them from openapi.json, against the real service. Each makes the calls of
   its program in the folder of its language, and prints a line for each answer. */

const PAGE = 'docs/clients.md';
const DOCUMENT = resolve(COMMITTED);
const PYTHON = resolve('test/clients/python');
const GO = resolve('test/clients/go');
const JAVA = resolve('test/clients/java');
const TYPESCRIPT = resolve('test/clients/typescript');

const VENV = resolve('node_modules/.cache/clients');

const ENVIRONMENT = {
  ...process.env,
  // openapi-python-client looks for ruff there.
  PATH: [join(VENV, 'bin'), resolve('node_modules/.bin'), process.env['PATH']].join(delimiter),
  PYTHONPATH: [join(PYTHON, 'generated'), join(PYTHON, 'generated/openapi-generator')].join(
    delimiter,
  ),
  PYTHONUTF8: '1',
};

/** What openapi-generator warns of whatever the document says. */
const WARNINGS_OF_ITS_OWN = [
  'OpenAPI 3.1 support is still in beta',
  // For every document that has a schema.
  'Failed to get the schema name: null',
  // For every request body that has an example, in Java.
  'Ignoring complex example on request body',
  // The published interface has the name; TypeScript has a class of that name.
  'Error (model name matches existing language type) cannot be used as a model name.',
];

/** Options of openapi-generator that the document needs. */
const OPTIONS = {
  java: '--additional-properties=errorObjectType=org.openapitools.client.model.Error',
  go: '--model-name-mappings=NewPlant=PlantRequest',
  goWithoutTests: '--global-property=apiTests=false',
  typescript: '--additional-properties=importFileExtension=.js',
};

type Command = readonly [command: string, ...rest: string[]];

interface Client {
  readonly name: string;
  /** The programs that it needs. */
  readonly needs: readonly (keyof typeof PROBES)[];
  /** Generates and builds it; resolves with the warnings about the document. */
  readonly make: () => Promise<string[]>;
  /** Makes the calls of {@link Expected}, and prints a line for each. */
  readonly calls?: Command;
  /** Makes the calls of `PLANT_STORE_CALLS`, and prints each answer as JSON: one client for each language. */
  readonly operations?: Command;
  /** The program that docs/clients.md links to. */
  readonly firstPlants?: Command;
  readonly gives: (service: TestService) => Promise<Expected>;
}

/** What the calls print, and the plants that are stored afterwards. */
interface Expected {
  readonly lines: readonly string[];
  readonly stored: readonly (readonly [id: string, name: string, tag: string | null])[];
}

// NFD, and a character beyond the Basic Multilingual Plane.
const NAME = 'Se\u0301nec\u0327on \u{1F335}';

const NAME_IN_JSON = String.raw`Se\u0301nec\u0327on \ud83c\udf35`;

const creating = (plant: string, other = '') =>
  `{"tag":"plants","operation":"createPlant","bodyName":"NewPlant","body":{${plant}}${other}}`;
const getting = (id: string) => `{"tag":"plants","operation":"getPlant","id":${id}}`;

/** The calls of {@link Expected}, for programs that make any call. */
const CALLS = `[${[
  creating(`"id":9007199254740993,"name":"${NAME_IN_JSON}"`),
  getting('9007199254740993'),
  creating('"id":-9223372036854775808,"name":"Ficus","tag":"indoor"'),
  getting('-9223372036854775808'),
  creating('"id":9223372036854775807,"name":"Aloe","tag":"desert"'),
  getting('9223372036854775807'),
  creating('"id":9007199254740993,"name":"Monstera"'),
  creating(String.raw`"id":1,"name":"\u0000"`),
  creating('"id":1,"name":"Monstera"', ',"token":"not-a-token"'),
  getting('404'),
  creating('"id":1,"name":"Monstera"', ',"below":"/nowhere"'),
].join()}]`;

/** The line of a call, from its answer in JSON. */
function lineOf(json: string): string {
  const answer = parseExactJson(json) as Readonly<Record<string, string | number | null>>;
  const { id, name, tag = null, status, error, message, notSent } = answer;
  if (notSent !== undefined) return `not sent: ${notSent}`;
  if (status !== undefined) return `refused ${status} ${error} ${message}`;
  const plant = `${name}, ${tag}`;
  return id === undefined ? `created ${plant}` : `stored ${toInteger(id)} ${plant}`;
}

async function exact(service: TestService): Promise<Expected> {
  return {
    lines: [
      `created ${NAME}, null`,
      `stored 9007199254740993 ${NAME}, null`,
      'created Ficus, indoor',
      'stored -9223372036854775808 Ficus, indoor',
      'created Aloe, desert',
      'stored 9223372036854775807 Aloe, desert',
      ...(await refusals(service, '9007199254740993')),
    ],
    stored: [
      ['-9223372036854775808', 'Ficus', 'indoor'],
      ['9007199254740993', NAME, null],
      ['9223372036854775807', 'Aloe', 'desert'],
    ],
  };
}

/** A double rounds 2^53 + 1 down, and JavaScript writes the limits of int64 as numbers beyond them. */
async function rounded(service: TestService): Promise<Expected> {
  const create = (body: string) => service.post(body).then(refusal(400, 40003));
  const get = (id: string) => service.request('GET', `/plants/${id}`).then(refusal(400, 40004));
  return {
    lines: [
      `created ${NAME}, null`,
      `stored 9007199254740992 ${NAME}, null`,
      await create('{"id":-9223372036854776000,"name":"Ficus","tag":"indoor"}'),
      await get('-9223372036854776000'),
      await create('{"id":9223372036854776000,"name":"Aloe","tag":"desert"}'),
      await get('9223372036854776000'),
      ...(await refusals(service, '9007199254740992')),
    ],
    stored: [['9007199254740992', NAME, null]],
  };
}

/** The lines for the calls that are refused whatever the client does, one for each kind of failure. */
async function refusals(service: TestService, takenId: string): Promise<string[]> {
  const plant = '{"id":1,"name":"Monstera"}';
  const headers = { 'Content-Type': 'application/json' };
  const anybody = { Authorization: 'Bearer not-a-token' };
  return [
    await service.post(`{"id":${takenId},"name":"Monstera"}`).then(refusal(400, 40009)),
    await service.post('{"id":1,"name":"\\u0000"}').then(refusal(400, 40003)),
    await service.post(plant, anybody).then(refusal(401, 40101)),
    await service.request('GET', '/plants/404').then(refusal(404, 40401)),
    // createPlant documents no 404, so this is its default response.
    await service
      .request('POST', '/nowhere/plants', { headers, body: plant })
      .then(refusal(404, 40400)),
  ];
}

/** The line for an answer that has to be that failure; its message is the service's. */
const refusal =
  (status: number, error: number) =>
  (answer: Answer): string => {
    expect([answer.status, answer.json['error']]).toEqual([status, error]);
    return `refused ${status} ${error} ${String(answer.json['message'])}`;
  };

const node = (program: string): Command => [
  process.execPath,
  join(TYPESCRIPT, 'generated/dist', program),
];

const clients: readonly Client[] = [
  {
    name: 'openapi-generator (java)',
    needs: ['python3', 'java', 'mvn'],
    make: async () => {
      const warnings = await openapiGenerator('java', join(JAVA, 'generated'), [OPTIONS.java]);
      const maven = ['--batch-mode', '--quiet', '-Dmaven.test.skip', 'compile'];
      const libraries = ['dependency:copy-dependencies', '-DoutputDirectory=target/libraries'];
      await run(join(JAVA, 'generated'), 'mvn', ...maven, ...libraries);
      return warnings;
    },
    operations: [
      'java',
      '--class-path',
      ['classes', 'libraries/*']
        .map((name) => join(JAVA, 'generated/target', name))
        .join(delimiter),
      join(JAVA, 'Operations.java'),
    ],
    gives: exact,
  },
  {
    name: 'openapi-generator (go)',
    needs: ['python3', 'java', 'go'],
    make: async () => {
      const warnings = await openapiGenerator('go', join(GO, 'generated/openapigenerator'), [
        OPTIONS.go,
        OPTIONS.goWithoutTests,
        '--additional-properties=withGoMod=false,packageName=openapigenerator',
      ]);
      await run(
        GO,
        'go',
        'build',
        '-o',
        'generated/bin/',
        './operations',
        './generated/firstplants',
      );
      // Fails if a module is missing, as `go mod tidy` does.
      await run(GO, 'go', 'list', '-test', '-deps', './generated/openapigenerator/...');
      return warnings;
    },
    operations: [join(GO, 'generated/bin/operations')],
    firstPlants: [join(GO, 'generated/bin/firstplants')],
    gives: exact,
  },
  {
    name: 'openapi-generator (python)',
    needs: ['python3', 'java'],
    make: () => openapiGenerator('python', join(PYTHON, 'generated/openapi-generator')),
    operations: ['python', join(PYTHON, 'operations.py')],
    firstPlants: ['python', join(PYTHON, 'generated/first_plants.py')],
    gives: async (service) => {
      const { lines, stored } = await exact(service);
      // It checks a plant against the schema before it sends it.
      return { lines: lines.with(7, 'not sent: name'), stored };
    },
  },
  {
    name: 'openapi-generator (typescript-fetch)',
    needs: ['python3', 'java'],
    make: async () => {
      const output = join(TYPESCRIPT, 'generated/typescript-fetch');
      const warnings = await openapiGenerator('typescript-fetch', output, [OPTIONS.typescript]);
      await compile('operations.ts');
      return warnings;
    },
    operations: node('operations.js'),
    gives: rounded,
  },
  {
    name: 'oapi-codegen',
    needs: ['go'],
    make: async () => {
      await mkdir(join(GO, 'generated/oapicodegen'), { recursive: true });
      const generate = ['-generate', 'types,client', '-package', 'oapicodegen'];
      const files = ['-o', 'generated/oapicodegen/client.go', DOCUMENT];
      await run(GO, 'go', 'build', '-o', 'generated/bin/', 'tool');
      const { stderr } = await run(
        GO,
        join(GO, 'generated/bin/oapi-codegen'),
        ...generate,
        ...files,
      );
      await run(GO, 'go', 'build', '-o', 'generated/bin/', './oapicodegen');
      return linesOf(stderr);
    },
    calls: [join(GO, 'generated/bin/oapicodegen')],
    gives: exact,
  },
  {
    name: 'openapi-python-client',
    needs: ['python3'],
    make: async () => {
      const output = ['--meta', 'none', '--output-path', 'generated/plant_store_client'];
      const generate = ['generate', '--path', DOCUMENT, '--overwrite', '--fail-on-warning'];
      const config = ['--config', 'openapi-python-client.yaml'];
      const { stderr } = await run(
        PYTHON,
        'openapi-python-client',
        ...generate,
        ...config,
        ...output,
      );
      return linesOf(stderr);
    },
    calls: ['python', join(PYTHON, 'openapi_python_client.py')],
    gives: exact,
  },
  {
    name: 'openapi-fetch',
    needs: [],
    make: async () => {
      const files = [DOCUMENT, '--output', 'generated/numbers.d.ts'];
      const { stderr } = await run(TYPESCRIPT, 'openapi-typescript', ...files);
      await compile('openapi-fetch.ts');
      return linesOf(stderr).filter((line) => line.includes('⚠'));
    },
    calls: node('openapi-fetch.js'),
    gives: rounded,
  },
  {
    name: 'openapi-fetch, ids as bigint',
    needs: [],
    make: async () => {
      const files = [DOCUMENT, 'generated/plant-store.d.ts'];
      const { stderr } = await run(
        TYPESCRIPT,
        process.execPath,
        'generated/write-types.mjs',
        ...files,
      );
      await compile('openapi-fetch-exact.ts');
      return linesOf(stderr);
    },
    calls: node('openapi-fetch-exact.js'),
    gives: exact,
  },
];

/** Commands that fail where a program is missing or too old. */
const PROBES = {
  python3: ['-c', 'import ensurepip, sys; assert sys.version_info >= (3, 11)'],
  java: ['--version'],
  mvn: ['--version'],
  // Fails if Go is older than the module needs.
  go: ['-C', GO, 'list', '-m'],
};
const absent = new Set(
  Object.entries(PROBES)
    .filter(([command, probe]) => spawnSync(command, probe, { timeout: 60_000 }).status !== 0)
    .map(([command]) => command),
);
// Set by .ci/run, which installs them.
if (process.env['CI'] !== undefined && absent.size > 0) {
  throw new Error(`missing or too old: ${[...absent].join(', ')}`);
}
const possible = clients.filter(({ needs }) => needs.every((command) => !absent.has(command)));

for (const { name, needs } of clients.filter((client) => !possible.includes(client))) {
  console.log(`No ${needs.filter((command) => absent.has(command)).join(', ')}: skipped ${name}.`);
}

beforeAll(async () => {
  const folders = [PYTHON, GO, JAVA, TYPESCRIPT].map((folder) => join(folder, 'generated'));
  await Promise.all(folders.map((folder) => rm(folder, { recursive: true, force: true })));
  await writeProgramsOfThePage();
  if (absent.has('python3')) return;
  await run(PYTHON, 'python3', '-m', 'venv', VENV);
  await run(PYTHON, join(VENV, 'bin/pip'), 'install', '--quiet', '-r', 'requirements.txt');
});

describe.each(possible)('the client of $name', (client) => {
  const { make, calls, operations, firstPlants, gives } = client;
  let service: TestService;
  let warnings: string[];

  beforeAll(async () => {
    warnings = await make();
    service = await startTestService();
  });

  afterAll(() => service?.stop());

  it('is made without a warning about the document', () => {
    expect(warnings).toEqual([]);
  });

  it('gives what docs/clients.md says', async () => {
    const lines = await answersAt(service.url);
    const expected = await gives(service);
    expect(lines).toEqual(expected.lines);
    const rows = await service.database.query('SELECT id, name, tag FROM plants ORDER BY id');
    expect(rows.map((row) => [row['id'], row['name'], row['tag']])).toEqual(expected.stored);
  });

  it('reads answers that have gained a member', async () => {
    const later = await startLaterVersion(service.url);
    try {
      const lines = await answersAt(later.url);
      expect(lines).toEqual((await gives(service)).lines);
    } finally {
      later.close();
    }
  });

  it.runIf(operations).each(RESOURCES)('has every operation of $name', async (resource) => {
    const expected = callsOf(resource);
    await service.database.empty();
    const requested = { PLANT_STORE_CALLS: JSON.stringify(expected.map(([call]) => call)) };
    const lines = await linesFrom(operations!, service.url, requested);
    const answers = expected.map(([{ operation }], at) => [
      operation,
      JSON.parse(lines[at] ?? '"nothing"') as unknown,
    ]);
    expect(answers).toEqual(expected.map(([{ operation }, answer]) => [operation, answer]));
  });

  it.runIf(firstPlants)('runs the example, and again', async () => {
    await service.database.empty();
    // More than a page.
    await service.database.query(
      "INSERT INTO plants (id, name, tag) SELECT n, 'Aloe', 'office' FROM generate_series(1, 60) AS n",
    );
    const lines = [
      'Monstera',
      ...Array.from({ length: 60 }, (_, n) => `${n + 1} Aloe`),
      '9007199254740993 Monstera',
      'id 9007199254740993 belongs to a plant with other content',
    ];
    expect(await linesFrom(firstPlants!, service.url)).toEqual(lines);
    expect(await linesFrom(firstPlants!, service.url)).toEqual(lines);
  });

  /** The lines of the calls of {@link Expected}. */
  async function answersAt(url: string): Promise<string[]> {
    if (calls !== undefined) return linesFrom(calls, url);
    return (await linesFrom(operations!, url, { PLANT_STORE_CALLS: CALLS })).map(lineOf);
  }

  async function linesFrom([command, ...rest]: Command, url: string, environment = {}) {
    const { stdout } = await promisify(execFile)(command, rest, {
      env: { ...ENVIRONMENT, ...environment, PLANT_STORE_URL: url, PLANT_STORE_TOKEN: TOKEN },
      timeout: 60_000,
    });
    return linesOf(stdout);
  }
});

it('docs/clients.md shows the options that are tested here', async () => {
  const page = await readFile(PAGE, 'utf8');
  for (const option of Object.values(OPTIONS)) expect(page).toContain(option);
});

/** The programs that docs/clients.md links to, and those that it shows, in its order. */
async function writeProgramsOfThePage(): Promise<void> {
  const page = await readFile(PAGE, 'utf8');
  const shown = [...page.matchAll(/^```(?:js|ts)\n([^]*?)^```$/gm)].map(([, program]) => program!);
  expect(shown).toHaveLength(2);
  const programs = [
    [join(GO, 'generated/firstplants/main.go'), await readFile('examples/first-plants.go', 'utf8')],
    [join(PYTHON, 'generated/first_plants.py'), await readFile('examples/first-plants.py', 'utf8')],
    [join(TYPESCRIPT, 'generated/write-types.mjs'), shown[0]!],
    [join(TYPESCRIPT, 'generated/exact-store.ts'), shown[1]!],
  ] as const;
  for (const [file, program] of programs) {
    await mkdir(dirname(file), { recursive: true });
    const source = program
      .replace('example.com/garden/client', 'plantstore-clients/generated/openapigenerator')
      .replace('./generated/', './');
    await writeFile(file, source);
  }
}

/** Runs a program to its end; fails when it fails. */
function run(folder: string, command: string, ...rest: readonly string[]) {
  const options = { cwd: folder, env: ENVIRONMENT, timeout: 300_000 };
  return promisify(execFile)(command, rest, options);
}

async function openapiGenerator(
  generator: string,
  output: string,
  options: readonly string[] = [],
): Promise<string[]> {
  const files = ['--input-spec', DOCUMENT, '--output', output];
  const generate = ['generate', '--generator-name', generator, ...files, ...options];
  const { stdout, stderr } = await run(PYTHON, 'openapi-generator-cli', ...generate);
  return linesOf(stdout + stderr)
    .filter((line) => /WARN|ERROR/.test(line))
    .filter((line) => !WARNINGS_OF_ITS_OWN.some((warning) => line.includes(warning)));
}

async function compile(...programs: readonly string[]): Promise<void> {
  const language = ['--strict', '--target', 'es2022', '--module', 'nodenext', '--types', 'node'];
  const files = ['--outDir', 'generated/dist', ...programs];
  await run(TYPESCRIPT, 'tsc', '--ignoreConfig', ...language, ...files);
}

const linesOf = (output: string) => output.split(/\r?\n/).filter((line) => line !== '');

/** The service as a later version may be: each of its answers has a member more. */
async function startLaterVersion(target: string): Promise<{ url: string; close: () => void }> {
  const server = createServer((request, response) => {
    void (async () => {
      const body = await text(request);
      const { authorization = '', 'content-type': type = '' } = request.headers;
      const answer = await fetch(`${target}${request.url}`, {
        method: request.method ?? '',
        headers: { authorization, 'content-type': type },
        ...(body !== '' && { body }),
      });
      const longer = (await answer.text()).replace(/\}$/, ',"height":{"metres":2.5}}');
      response.writeHead(answer.status, { 'Content-Type': 'application/json' }).end(longer);
    })();
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}
