import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { readdir, readFile, rm, writeFile } from 'node:fs/promises';
import type { ServerResponse } from 'node:http';
import { join } from 'node:path';
import { Readable, Writable } from 'node:stream';
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { PATIENCE } from '../../packages/framework/test/support/patience.js';
import { CommandProcess, IMPATIENT, openStdin, Run } from '../support/plant-store-command.js';
import type { Result, RunOptions } from '../support/plant-store-command.js';
import { csvOf, RESOURCES } from '../support/resources.js';
import { startTestService, TOKEN } from '../support/test-service.js';
import type { TestService } from '../support/test-service.js';
import { enterFolder, linkTo, serve, unsteady } from '../command/stand-ins.js';

const PROJECT = process.cwd();
/** No file can have it. */
const LONG_NAME = `${'n'.repeat(300)}.ndjson`;

let service: TestService;
/** Another replica, on the database of `service`. */
let replica: TestService;

beforeAll(async () => {
  service = await startTestService();
  replica = await startTestService({ database: service.database });
});

afterAll(async () => {
  await replica.stop();
  await service.stop();
});

beforeEach(() => service.database.empty());

beforeEach(enterFolder);

function runAt(url: string, args: readonly string[], options?: RunOptions): Promise<Result> {
  return new Run(url, args, options).result;
}

function run(args: readonly string[], options?: RunOptions): Promise<Result> {
  return runAt(service.url, args, options);
}

/** Lines of NDJSON with the ids from `first`. */
function plants(first: number, count: number): string {
  const ids = Array.from({ length: count }, (_, at) => first + at);
  return ids.map((id) => `{"id":${id},"name":"Plant ${id}"}\n`).join('');
}

/** How many answers to imports have left the service. */
function answeredImports(): number {
  return service.log.filter(({ route }) => route === '/plants/import').length;
}

async function storedCount(): Promise<number> {
  const [row] = await service.database.query('SELECT count(*)::int AS count FROM plants');
  return row?.['count'] as number;
}

describe('import', () => {
  it('stores the plants of several files, and says how many', async () => {
    await writeFile('a.ndjson', plants(1, 2));
    await writeFile('b.csv', 'id,name,tag\r\n3,Ficus,tree\r\n9223372036854775807,月下美人,\r\n');
    const { code, stdout, stderr } = await run(['import', 'a.ndjson', 'b.csv']);
    expect(stderr).toBe('');
    expect(stdout).toMatch(/^created 4, unchanged 0, refused 0 in \d+\.\d s \(\d+ plants\/s\)\n$/);
    expect(code).toBe(0);
    expect((await run(['export'])).stdout.split('\n').slice(2)).toEqual([
      '{"id":3,"name":"Ficus","tag":"tree"}',
      '{"id":9223372036854775807,"name":"月下美人"}',
      '',
    ]);
  });

  it('prints the refused lines, and writes them to a file that can be imported when it is mended', async () => {
    await service.post({ id: 7, name: 'Ficus' });
    await writeFile(
      'plants.ndjson',
      `${plants(1, 5)}\n{"id":7,"name":"Other"}\r\n\r\n{"id":"8","name":"Text"}\n${plants(10, 2)}{"id":9`,
    );
    const { code, stdout, stderr } = await run(['import', 'plants.ndjson']);
    expect(code).toBe(1);
    expect(stdout).toMatch(/^created 7, unchanged 0, refused 3 /);
    expect(stderr.split('\n')).toEqual([
      expect.stringMatching(/^plants\.ndjson:7: 40009 /),
      expect.stringMatching(/^plants\.ndjson:9: 40003 id must be an integer /),
      expect.stringMatching(/^plants\.ndjson:12: 40001 /),
      'The refused records are in plants.refused.ndjson: mend them, then import this file.',
      '',
    ]);
    const refused = await readFile('plants.refused.ndjson', 'utf8');
    expect(refused).toBe('{"id":7,"name":"Other"}\r\n{"id":"8","name":"Text"}\n{"id":9\n');
    await writeFile(
      'mended.ndjson',
      refused.replace('7', '70').replace('"8"', '8').replace('9\n', '9,"name":""}'),
    );
    expect((await run(['import', 'mended.ndjson'])).stdout).toMatch(/^created 3, /);
  });

  it('writes refused CSV records with the header line, also those that the command cannot send', async () => {
    const header = '\ufefftag,id,name\r\n';
    const refused = [
      'indoor,1E+15,"A rounded id"\r\n',
      '"two\r\nlines",12x,"say ""hi"""\r\n',
      'x,5\r\n',
      'x,6,Pot 5"\r\n',
      'x,8,"not closed\r\n',
    ];
    const [rounded, multiline, short, quote, open] = refused;
    await writeFile(
      'plants.csv',
      `${header}indoor,1,Ficus\r\n${rounded}\r\n${multiline},9007199254740993,\r\n${short}"",4,""\r\n${quote}${open}`,
    );
    const { code, stdout, stderr } = await run(['import', 'plants.csv', '--refused', 'r.csv']);
    expect(stdout).toMatch(/^created 2, unchanged 0, refused 6 /);
    expect(code).toBe(1);
    expect(stderr.split('\n').slice(0, -2)).toEqual([
      expect.stringMatching(/^plants\.csv:3: 40003 id must be an integer /),
      expect.stringMatching(/^plants\.csv:5: 40003 id must be an integer /),
      'plants.csv:7: 40003 name is missing',
      'plants.csv:8: number of fields: 2 instead of 3',
      'plants.csv:10: a quote is at the wrong place',
      'plants.csv:11: a quote is not closed',
    ]);
    expect(await readFile('r.csv', 'utf8')).toBe(
      `${header}${rounded}${multiline},9007199254740993,\r\n${short}${quote}${open}`,
    );
    expect((await run(['export'])).stdout).toBe(
      '{"id":1,"name":"Ficus","tag":"indoor"}\n{"id":4,"name":"","tag":""}\n',
    );
  });

  it('leaves out the byte order mark of each NDJSON file, also among the refused records', async () => {
    await writeFile('a.ndjson', '\ufeff{"id":1}\r\n{"id":2,"name":"a"}\r\n');
    await writeFile('b.ndjson', '\ufeff{"id":3,"name":"b"}\n');
    const { stdout, stderr } = await run(['import', 'a.ndjson', 'b.ndjson']);
    expect(stdout).toMatch(/^created 2, unchanged 0, refused 1 /);
    expect(stderr).toMatch(/^a\.ndjson:1: 40003 name is missing\n/);
    expect(await readFile('a.refused.ndjson', 'utf8')).toBe('{"id":1}\r\n');
  });

  it('refuses records that are not UTF-8 instead of altering them', async () => {
    await writeFile('a.csv', Buffer.from('id,name\n1,Fran\xe7ois\n2,Ficus\n', 'latin1'));
    await writeFile('b.ndjson', Buffer.from('{"id":3,"name":"Fran\xe7ois"}\n', 'latin1'));
    const { stderr } = await run(['import', 'a.csv', 'b.ndjson']);
    expect(stderr).toMatch(/^a\.csv:2: it is not UTF-8\nb\.ndjson:1: 40001 /);
    expect(await readFile('b.refused.ndjson', 'latin1')).toContain('Fran\xe7ois');
    expect(await storedCount()).toBe(1);
  });

  it('never overwrites a file of refused lines', async () => {
    await writeFile('a.ndjson', 'x\n');
    await writeFile('a.refused.ndjson', 'precious');
    for (const number of [2, 3]) {
      const { stderr } = await run(['import', 'a.ndjson']);
      expect(stderr).toContain(`in a.refused-${number}.ndjson:`);
    }
    expect(await readFile('a.refused.ndjson', 'utf8')).toBe('precious');
    expect(await readFile('a.refused-3.ndjson', 'utf8')).toBe('x\n');
  });

  it('stops all requests when it cannot write refused lines, and says so', async () => {
    const answers: ServerResponse[] = [];
    const gone = vi.fn<() => void>();
    const url = await serve((request, response) => {
      answers.push(response.once('close', gone));
      request.resume();
      // The requests that came before wait for their answers, however long.
      if (answers.length !== 4) return;
      answers[0]!.writeHead(200, { 'Content-Type': 'application/x-ndjson' });
      answers[0]!.end(
        '{"line":1,"error":40001,"message":"no"}\n{"created":1999,"unchanged":0,"refused":1}\n',
      );
    });
    await writeFile('a.ndjson', `x\n${plants(1, 20_000)}`);
    const { code, stdout, stderr } = await runAt(url, [
      'import',
      'a.ndjson',
      '--refused',
      LONG_NAME,
    ]);
    expect(stderr).toContain(
      `plant-store: the refused records cannot be written to ${LONG_NAME}: ENAMETOOLONG\n`,
    );
    expect(stderr).toContain('The import is incomplete.');
    expect(stderr).not.toContain('mend them');
    expect(stdout).toMatch(/^created 1999, unchanged 0, refused 1 /);
    expect(code).toBe(3);
    await vi.waitFor(() => expect(gone).toHaveBeenCalledTimes(4), PATIENCE);
    expect(answers).toHaveLength(4);
  });

  it('ends at once when its token is refused, although it sends a long body, and its input could go on', async () => {
    const stdin = openStdin();
    const command = new Run(service.url, ['import', '-'], {
      stdin,
      env: { PLANT_STORE_TOKEN: 'wrong' },
    });
    stdin.write(`{"id":1,"name":"${'x'.repeat(5_000)}"}\n`.repeat(1_000));
    const { code, stderr } = await command.result;
    expect(stderr).toMatch(/^plant-store: 40101 /);
    expect(code).toBe(3);
    expect(stdin.destroyed).toBe(true);
  });

  it('prints the first 20 refused lines, in their order', async () => {
    const bad = 'x\n'.repeat(30);
    await writeFile('a.ndjson', plants(1, 1_500) + bad + plants(1_501, 1_500) + bad);
    const { stdout, stderr } = await run(['import', 'a.ndjson']);
    expect(stdout).toMatch(/^created 3000, unchanged 0, refused 60 /);
    const lines = stderr.split('\n').slice(0, 21);
    expect(lines.slice(0, 20).map((line) => parseInt(line.split(':')[1] ?? '', 10))).toEqual(
      Array.from({ length: 20 }, (_, at) => 1_501 + at),
    );
    expect(lines[20]).toBe('40 more are refused: --errors FILE saves all reasons');
    expect((await readFile('a.refused.ndjson', 'utf8')).length).toBe(2 * 60);
  });

  it('reads standard input, NDJSON unless --format says CSV', async () => {
    const first = await run(['import', '-'], { stdin: Readable.from([Buffer.from(plants(1, 2))]) });
    expect(first.stdout).toMatch(/^created 2, /);
    const second = await run(['import', '--format', 'csv', '-'], {
      stdin: Readable.from([Buffer.from('name,id\nFicus,3\nx')]),
    });
    expect(second.stdout).toMatch(/^created 1, unchanged 0, refused 1 /);
    expect(second.stderr).toMatch(/^stdin:3: /);
    expect(existsSync('stdin.refused.csv')).toBe(true);
  });

  it('sends requests that pass the default limits of a proxy, and a longer line alone', async () => {
    const proxy = await unsteady(service.url, []);
    const long = `{"id":1,"name":"${'x'.repeat(700_000)}"}\n`;
    const many = Array.from(
      { length: 60 },
      (_, at) => `{"id":${at + 10},"name":"${'y'.repeat(20_000)}"}\n`,
    );
    const { stdout } = await runAt(proxy.url, ['import', '-'], {
      stdin: Readable.from([Buffer.from(plants(2, 1) + long + many.join(''))]),
    });
    expect(stdout).toMatch(/^created 62, /);
    const [least = 0, ...rest] = proxy.bodies.toSorted((a, b) => a - b);
    expect(least).toBeLessThan(100);
    expect(rest.at(-1)).toBe(long.length);
    for (const length of rest.slice(0, -1)) expect(length).toBeLessThanOrEqual(512 * 1024);
  });

  it('halves a request that is too long for a proxy, and counts a line as refused that is', async () => {
    const proxy = await unsteady(service.url, [], 10_000);
    const long = `{"id":501,"name":"${'x'.repeat(10_000)}"}\n`;
    await writeFile('a.ndjson', `x\n${plants(1, 500)}${long}\n${plants(502, 1_500)}{"id":0}\n`);
    const { code, stdout, stderr } = await runAt(proxy.url, ['import', 'a.ndjson']);
    expect(stderr.split('\n').slice(0, 3)).toEqual([
      expect.stringMatching(/^a\.ndjson:1: 40001 /),
      'a.ndjson:502: the response was 413 Payload Too Large',
      'a.ndjson:2004: 40003 name is missing',
    ]);
    expect(stdout).toMatch(/^created 2000, unchanged 0, refused 3 /);
    expect(code).toBe(1);
    expect(await readFile('a.refused.ndjson', 'utf8')).toBe(`x\n${long}{"id":0}\n`);
    expect(await storedCount()).toBe(2_000);
  });

  it('repeats requests that a proxy refuses or whose answer is lost, and stores each plant once', async () => {
    const proxy = await unsteady(service.url, ['bad gateway', 'answer lost', 'answer cut']);
    await writeFile('a.ndjson', `${plants(1, 6_000)}x\n`);
    const { code, stdout, stderr } = await runAt(proxy.url, ['import', 'a.ndjson']);
    expect(proxy.isDone).toBe(true);
    const [, created, unchanged] = /^created (\d+), unchanged (\d+), refused 1 /.exec(stdout) ?? [];
    expect(Number(created) + Number(unchanged)).toBe(6_000);
    expect(Number(unchanged)).toBeGreaterThan(0);
    expect(stderr).toContain('Requests were repeated.');
    expect(stderr).toContain('; trying again\n');
    expect(code).toBe(1);
    expect(await storedCount()).toBe(6_000);
  });

  it('repeats a request whose answer ends early or does not come', async () => {
    const answers = [
      '',
      '{"line":1,"error":40003,"mess',
      '{"error":50300,"message":"away"}\n',
      undefined,
    ];
    const url = await serve((request, response) => {
      request.resume().on('end', () => {
        if (answers.length > 0 && answers[0] === undefined) {
          answers.shift();
          return;
        }
        const answer = answers.shift() ?? '{"created":1,"unchanged":0,"refused":0}\n';
        response.writeHead(200, { 'Content-Type': 'application/x-ndjson' }).end(answer);
      });
    });
    await writeFile('a.ndjson', plants(1, 1));
    const { code, stdout } = await runAt(url, ['import', 'a.ndjson'], {
      limits: { ...IMPATIENT, idle: 100 },
    });
    expect(stdout).toMatch(/^created 1, /);
    expect(code).toBe(0);
    expect(answers).toEqual([]);
  });

  it('goes on with another replica after a while without any', async () => {
    const link = await linkTo(service.url);
    const stdin = openStdin();
    const before = answeredImports();
    const command = new Run(link.url, ['import', '-'], { stdin });
    stdin.write(plants(1, 2_001));
    await vi.waitFor(() => expect(answeredImports()).toBe(before + 1), PATIENCE);
    expect(await storedCount()).toBe(2_000);
    link.poison({ kind: 'down' });
    stdin.end(plants(2_002, 5_999));
    await vi.waitFor(() => expect(command.stderr).toContain('; trying again'), PATIENCE);
    link.leadTo(replica.url);
    link.cure();
    const { code, stdout } = await command.result;
    expect(stdout).toMatch(/^created 8000, unchanged 0, refused 0 /);
    expect(code).toBe(0);
    expect(await storedCount()).toBe(8_000);
  });

  it('gives up when nothing succeeds, and says that it can be run again', async () => {
    await writeFile('a.ndjson', plants(1, 9_000));
    const url = await serve((_request, response) => response.writeHead(503).end());
    const { code, stdout, stderr } = await runAt(url, ['import', 'a.ndjson'], {
      limits: { ...IMPATIENT, patience: 300 },
    });
    expect(code).toBe(3);
    expect(stdout).toMatch(/^created 0, unchanged 0, refused 0 /);
    expect(stderr).toMatch(
      / 503 Service Unavailable; gave up after 0\.\d seconds without success\n/,
    );
    expect(stderr).toContain('The import is incomplete. Run it again:');
  });

  it('imports what comes before a record that is too long to be one', async () => {
    const endless = function* () {
      yield Buffer.from(`id,name\n1,Ficus\n2,"`);
      for (;;) yield Buffer.alloc(64 * 1024, 'x');
    };
    for (const [format, summary] of [
      ['csv', 'created 1, unchanged 0, refused 0 '],
      ['ndjson', 'created 0, unchanged 0, refused 2 '],
    ] as const) {
      const { code, stderr, stdout } = await run(['import', '--format', format, '-'], {
        stdin: Readable.from(endless()),
      });
      expect(stderr).toContain(
        'plant-store: stdin:3: a record may have at most 16 MiB; the rest was not read\n',
      );
      expect(code).toBe(3);
      expect(stdout).toContain(summary);
    }
  });

  it('shows a progress bar on a terminal that is never wider than it', async () => {
    for (const columns of [30, 200]) {
      const stdin = openStdin();
      const file = new Run(service.url, ['import', '--format', 'csv', '-'], { stdin, columns });
      stdin.write('id,name\n1,Ficus\n');
      await vi.waitFor(() => expect(file.stderr).toContain('plants'), PATIENCE);
      stdin.end();
      const { stderr } = await file.result;
      for (const line of stderr.split('\r\u001B[2K')) expect(line.length).toBeLessThan(columns);
      expect(stderr.endsWith('\r\u001B[2K')).toBe(true);
    }
  });
});

describe('--help', () => {
  it('has the variables and the exit codes of docs/command.md', async () => {
    const { stdout } = await run(['import', '--help']);
    const page = await readFile(join(PROJECT, 'docs', 'command.md'), 'utf8');
    const allOf = (text: string, pattern: RegExp) =>
      [...text.matchAll(pattern)].map(([, name]) => name);
    expect(allOf(page, /^\| `([A-Z_]+)` /gm)).toEqual(allOf(stdout, /^ {2}([A-Z_]+) /gm));
    expect(allOf(page, /^\| (\d+) /gm)).toEqual(allOf(stdout, /^ {2}(\d+) /gm));
  });
});

describe('export', () => {
  it('writes a file only when it is complete', async () => {
    await service.post({ id: 1, name: 'a, "b"\n', tag: '' });
    await service.post({ id: -5, name: 'Ficus' });
    await writeFile('plants.csv', 'old');
    const args = ['export', '--overwrite', '--output', 'plants.csv'];
    const { code, stdout, stderr } = await run(args);
    expect(stdout).toBe('');
    expect(stderr).toMatch(/^exported 2 plants in \d+\.\d s \(\d+ plants\/s\)\n$/);
    expect(code).toBe(0);
    const exported = csvOf(
      'plants',
      { id: '-5', name: '"Ficus"' },
      { id: '1', name: '"a, ""b""\n"', tag: '""' },
    );
    expect(await readFile('plants.csv', 'utf8')).toBe(exported);
    const broken = await run(args, {
      env: { PLANT_STORE_TOKEN: 'another' },
    });
    expect(broken.code).toBe(3);
    expect(await readdir('.')).toEqual(['plants.csv']);
    expect(await readFile('plants.csv', 'utf8')).toBe(exported);
  });

  it('selects plants by tag and name', async () => {
    await service.post({ id: 1, name: 'Monstera', tag: 'a&b' });
    await service.post({ id: 2, name: 'Monstera' });
    await service.post({ id: 3, name: 'Ficus', tag: 'a&b' });
    const { stdout } = await run(['export', '--tag', 'a&b', '--name', 'STER']);
    expect(stdout).toBe('{"id":1,"name":"Monstera","tag":"a&b"}\n');
    expect((await run(['export', '--name', 'x'])).stderr).toMatch(/^plant-store: 40004 name /m);
  });

  it('warns of CSV that a spreadsheet would run, and escapes it so that an import gets it back', async () => {
    const names = ['=HYPERLINK("https://x.test")', "'=1", "'t Hooft", '\tMonstera', 'Ficus'];
    for (const [id, name] of names.entries()) await service.post({ id, name, tag: '@tag' });
    const plain = await run(['export', '--format', 'csv']);
    expect(plain.stderr).toMatch(/^7 texts look like a formula, .* use --escape-formulas /m);
    const { stdout, stderr } = await run(['export', '--format', 'csv', '--escape-formulas']);
    expect(stderr).not.toContain('formula');
    expect(stdout).toContain(`0,"'=HYPERLINK(""https://x.test"")","'@tag"\r\n1,"''=1","'@tag"\r\n`);
    await writeFile('plants.csv', stdout);
    const again = await run(['import', '--unescape-formulas', 'plants.csv']);
    expect(again.stdout).toMatch(/^created 0, unchanged 5, refused 0 /);
    for (const args of [
      ['export', '--escape-formulas'],
      ['import', '--unescape-formulas', '-'],
    ]) {
      expect(await run(args)).toMatchObject({
        code: 2,
        stderr: expect.stringMatching(/^plant-store: --(un)?escape-formulas is for CSV$/m),
      });
    }
  });

  it('of an empty store is an empty file, or the header line of CSV', async () => {
    expect((await run(['export'])).stdout).toBe('');
    expect((await run(['export', '--format', 'csv'])).stdout).toBe(csvOf('plants'));
  });

  it('goes on when an answer stops coming', async () => {
    const url = await serve((request, response) => {
      response.writeHead(200, { 'Content-Type': 'application/x-ndjson' });
      if (request.url === '/plants/export?after=2') response.end(`${plants(3, 1)}\n`);
      else response.write(`${plants(1, 2)}{"id":3,"na`);
    });
    const { code, stdout, stderr } = await runAt(url, ['export'], {
      limits: { ...IMPATIENT, idle: 300 },
    });
    expect(stderr).toContain('plant-store: the connection broke; trying again\n');
    expect(stdout).toBe(plants(1, 3));
    expect(code).toBe(0);
  });

  it.each([
    [429, () => '1'],
    // Whole seconds, of which at least one is left.
    [503, () => new Date(Date.now() + 2_000).toUTCString()],
  ])('waits as long as Retry-After says after %i', async (status, retryAfter) => {
    const asked: number[] = [];
    const url = await serve((_request, response) => {
      asked.push(performance.now());
      if (asked.length === 1) response.writeHead(status, { 'Retry-After': retryAfter() }).end();
      else response.writeHead(200, { 'Content-Type': 'application/x-ndjson' }).end('\n');
    });
    const { code } = await runAt(url, ['export']);
    expect(code).toBe(0);
    expect(asked).toHaveLength(2);
    expect(asked[1]! - asked[0]!).toBeGreaterThan(950);
  });

  it('goes on after the last whole line when answers break or fail', async () => {
    await service.database.query(
      `INSERT INTO plants (id, name) SELECT n, 'Plant ' || n FROM generate_series(1, 3000) AS n`,
    );
    const proxy = await unsteady(service.url, [
      'bad gateway',
      'answer cut',
      'answer halved',
      'answer lost',
      'answer halved',
      'answer cut',
    ]);
    const { code, stdout, stderr } = await runAt(proxy.url, ['export', '--name', 'plant']);
    expect(stdout).toBe(plants(1, 3_000));
    expect(stderr).toContain('; trying again\n');
    expect(stderr).toContain('exported 3000 plants ');
    expect(code).toBe(0);
    expect(proxy.isDone).toBe(true);
  });

  it.each([
    ['ends with an empty line', [`${plants(1, 2)}\n`]],
    ['brings the empty line by itself', [plants(1, 2), '\n']],
    ['has no plants, but the empty line', [plants(1, 2)], ['\n']],
    ['has no plants at all: an older version sends no empty line', [plants(1, 2)], []],
  ])('asks on until an answer %s', async (_, ...answers: readonly (readonly string[])[]) => {
    const asked: (string | undefined)[] = [];
    const url = await serve((request, response) => {
      response.writeHead(200, { 'Content-Type': 'application/x-ndjson' });
      Readable.from(answers[asked.length] ?? []).pipe(response);
      asked.push(request.url);
    });
    const { code, stdout } = await runAt(url, ['export']);
    expect(stdout).toBe(plants(1, 2));
    expect(code).toBe(0);
    expect(asked).toEqual(['/plants/export', '/plants/export?after=2'].slice(0, answers.length));
  });

  it.each([
    ['fails', 502, '', 'the response was 502 Bad Gateway; gave up '],
    ['ends in a line', 200, '{"id":3', 'the response ended in the middle of a line; gave up '],
    ['begins anew', 200, plants(1, 2), 'the plants do not come in ascending order of their ids'],
  ])('leaves no file if half of an answer came, and then each %s', async (_, status, body, why) => {
    const url = await serve((request, response) => {
      const isFirst = request.url === '/plants/export';
      response.writeHead(isFirst ? 200 : status, { 'Content-Type': 'application/x-ndjson' });
      response.end(isFirst ? plants(1, 2) : body);
    });
    const { code, stderr } = await runAt(url, ['export', '--output', 'a.ndjson'], {
      limits: { ...IMPATIENT, patience: 300 },
    });
    expect(stderr).toMatch(/^incomplete: 2 plants /m);
    expect(stderr).toContain(`plant-store: ${why}`);
    expect(code).toBe(3);
    expect(await readdir('.')).toEqual([]);
  });

  it('goes on with another replica when its replica is gone', async () => {
    // More than all buffers between the service and the command hold.
    await service.database.query(
      `INSERT INTO plants (id, name) SELECT n, repeat('x', 10000) FROM generate_series(1, 2000) AS n`,
    );
    const link = await linkTo(service.url);
    let text = '';
    const stdout = new Writable({
      write: (chunk: Buffer, _encoding, done) => {
        if (text === '') link.leadTo(replica.url);
        text += chunk.toString();
        done();
      },
    });
    const { code, stderr } = await new Run(link.url, ['export'], { stdout }).result;
    expect(stderr).toContain('; trying again\n');
    const ids = text
      .trimEnd()
      .split('\n')
      .map((line) => /^\{"id":(\d+),/.exec(line)?.[1]);
    expect(ids).toEqual(Array.from({ length: 2_000 }, (_, at) => String(at + 1)));
    expect(code).toBe(0);
  });

  it.each(['ndjson', 'csv'])(
    'gives a store that is equal when it is imported, as %s',
    async (format) => {
      const marks = ['', ' ', '\t', '\r\n', '"', '""', ',', '\ufeff', "'", '\u2028'];
      const words = ['é', 'e\u0301', '🌵', '=1+1', 'NULL', '\\N', '0', 'x\n'];
      const texts = [...marks, ...words];
      const values = texts.flatMap((name) => [undefined, ...texts].map((tag) => ({ name, tag })));
      const ids = values.map((_, at) => String(BigInt(at) * 40_000_000_000_000_001n - 2n ** 62n));
      const lines = values.map(
        (value, at) => `{"id":${ids[at]},${JSON.stringify(value).slice(1)}\n`,
      );
      await run(['import', '-'], { stdin: Readable.from([Buffer.from(lines.join(''))]) });
      const before = (await run(['export'])).stdout;
      expect(before).toBe(lines.join(''));
      await run(['export', '--output', `all.${format}`]);
      await service.database.empty();
      const { stdout } = await run(['import', `all.${format}`]);
      expect(stdout).toMatch(new RegExp(`^created ${values.length}, unchanged 0, refused 0 `));
      expect((await run(['export'])).stdout).toBe(before);
    },
  );

  it('leaves no part of a file when it is interrupted', async () => {
    const controller = new AbortController();
    const url = await serve((_request, response) => {
      response.writeHead(200, { 'Content-Type': 'application/x-ndjson' });
      response.write(plants(1, 1), () => controller.abort('SIGTERM'));
    });
    const { code, stderr } = await runAt(url, ['export', '--output', 'a.csv'], {
      signal: controller.signal,
    });
    expect(stderr).toMatch(/^incomplete: \d plants in .*\nplant-store: interrupted\n$/);
    expect(code).toBe(143);
    expect(await readdir('.')).toEqual([]);
  });

  it('says that the folder of its file is missing, before anything is sent', async () => {
    const { code, stderr } = await run(['export', '--output', 'no/such/plants.csv']);
    expect(stderr).toBe('plant-store: the folder no/such does not exist\n');
    expect(code).toBe(2);
  });

  it('writes no file that is not a regular file', async () => {
    const { code, stderr } = await run(['export', '--output', '/dev/null', '--format', 'csv']);
    expect(stderr).toContain('plant-store: --output must name a file: /dev/null is none\n');
    expect(code).toBe(2);
  });
});

describe('the connection', () => {
  it.each([
    [{ PLANT_STORE_URL: '' }, 'PLANT_STORE_URL is not set, and no service runs in this folder\n'],
    [{ PLANT_STORE_URL: 'localhost:3000' }, 'PLANT_STORE_URL must be an http or https URL'],
    [
      { PLANT_STORE_TOKEN: '' },
      'PLANT_STORE_TOKEN is not set, and neither is PLANT_STORE_TOKEN_FILE',
    ],
    [
      { PLANT_STORE_TOKEN_FILE: 'x' },
      'PLANT_STORE_TOKEN and PLANT_STORE_TOKEN_FILE are both set: unset one',
    ],
    [{ PLANT_STORE_TOKEN: 'a secret' }, 'PLANT_STORE_TOKEN must consist of the characters'],
    [
      { PLANT_STORE_TOKEN: '', PLANT_STORE_TOKEN_FILE: 'missing' },
      'PLANT_STORE_TOKEN_FILE must name a file that can be read: ENOENT',
    ],
    [
      { PLANT_STORE_TOKEN: '', PLANT_STORE_TOKEN_FILE: 'a.ndjson' },
      'PLANT_STORE_TOKEN_FILE must name a file with a token of the characters',
    ],
  ])('needs valid variables: %j', async (env, message) => {
    await writeFile('a.ndjson', plants(1, 1));
    for (const args of [['import', 'a.ndjson'], ['export']]) {
      const { code, stderr } = await run(args, { env });
      expect(code).toBe(2);
      expect(stderr).toMatch(new RegExp(`^plant-store: ${message}`, 'm'));
      expect(stderr).not.toContain('secret');
    }
    expect(await storedCount()).toBe(0);
  });

  it('asks to correct what no repeat would help', async () => {
    const stdin = () => Readable.from([Buffer.from('{"id":1,"name":"Aloe"}\n')]);
    const runWith = (env: Record<string, string>) => run(['import', '-'], { stdin: stdin(), env });
    const wrongToken = await runWith({ PLANT_STORE_TOKEN: 'wrong' });
    const wrongPath = await runWith({ PLANT_STORE_URL: `${service.url}/none` });
    for (const { code, stderr } of [wrongToken, wrongPath]) {
      expect(stderr).toContain('The import is incomplete. Correct this, then run it again:');
      expect(code).toBe(3);
    }
  });

  it('reads a rotated token from its file', async () => {
    await writeFile('token', 'old\n');
    const url = await serve((request, response) => {
      request.resume();
      const isNew = request.headers.authorization === 'Bearer new';
      void writeFile('token', 'new\n').then(() =>
        response
          .writeHead(isNew ? 200 : 401, { 'Content-Type': 'application/x-ndjson' })
          .end(isNew ? '{"id":1,"name":"a"}\n\n' : ''),
      );
    });
    const { code, stdout } = await runAt(url, ['export'], {
      env: { PLANT_STORE_TOKEN: '', PLANT_STORE_TOKEN_FILE: 'token' },
    });
    expect(stdout).toBe('{"id":1,"name":"a"}\n');
    expect(code).toBe(0);
  });

  it('waits for a token file that is being replaced', async () => {
    await writeFile('token', TOKEN);
    let missing = true;
    const url = await serve((_request, response) => {
      const isFirst = missing;
      missing = false;
      void (isFirst ? rm('token') : Promise.resolve()).then(() =>
        response.writeHead(isFirst ? 503 : 200, { 'Content-Type': 'application/x-ndjson' }).end(),
      );
    });
    const command = new Run(url, ['export'], {
      env: { PLANT_STORE_TOKEN: '', PLANT_STORE_TOKEN_FILE: 'token' },
    });
    await vi.waitFor(() => expect(existsSync('token')).toBe(false), PATIENCE);
    await writeFile('token', TOKEN);
    expect(await command.result).toMatchObject({ code: 0 });
  });

  it('sends the token to no address that it is redirected to', async () => {
    let followed = false;
    const other = await serve((_request, response) => {
      followed = true;
      response.end();
    });
    const url = await serve((_request, response) => {
      response.writeHead(302, { Location: `${other}/plants/export` }).end();
    });
    const { code, stderr } = await runAt(url, ['export']);
    expect(stderr).toContain(`plant-store: the response was 302 Found to ${other}/plants/export\n`);
    expect(code).toBe(3);
    expect(followed).toBe(false);
  });

  it('notices an address that is no plant store', async () => {
    const url = await serve((_request, response) => response.end('<h1>Welcome</h1>'));
    const { code, stderr } = await runAt(url, ['export']);
    expect(stderr).toContain('plant-store: PLANT_STORE_URL does not lead to a plant store\n');
    expect(code).toBe(3);
  });
});

describe('the arguments', () => {
  it.each([
    [['import'], "missing required argument 'file'"],
    [['imprt', 'x'], 'Did you mean import?'],
    [['import', 'x.ndjson', '--concurrency', '17'], 'It must be an integer, 1 to 16.'],
    [['import', 'x.ndjson', '--concurrency', '0'], 'It must be an integer, 1 to 16.'],
    [['import', 'x.ndjson', '--concurrency', 'two'], 'It must be an integer, 1 to 16.'],
    [['import', 'x.ndjson', '--format', 'xml'], 'Allowed choices are ndjson, csv.'],
    [['import', 'x.xls'], 'x.xls ends in neither .ndjson, .jsonl nor .csv: set --format'],
    [['import', 'x.ndjson'], 'x.ndjson does not exist'],
    [['import', '.', '--format', 'csv'], '. is a folder'],
    [['import', 'x.csv', '--errors', 'e.txt'], '--errors must end in .ndjson, .jsonl or .csv'],
    [['import', 'x.csv', '--errors', 'none/e.csv'], '--errors: there is no folder none'],
    [['import', 'x.csv', 'y.csv', '--refused', 'r'], '--refused can be used with one FILE only'],
    [['export', '--output', 'x'], 'x ends in neither'],
    [
      ['export', '--resource', 'pots'],
      `Allowed choices are ${RESOURCES.map(({ name }) => name).join(', ')}.`,
    ],
    [['import', '--resource'], 'argument missing'],
    [['export', '--nonsense', 'x'], "unknown option '--nonsense'"],
  ])('%j are refused', async (args, message) => {
    const { code, stderr } = await run(args);
    expect(stderr).toContain(message);
    expect(code).toBe(2);
  });

  it.each(['import', 'export'])('--help explains %s', async (command) => {
    const { code, stdout } = await run([command, '--help'], { env: { PLANT_STORE_URL: '' } });
    for (const word of ['PLANT_STORE_TOKEN_FILE', 'Exit codes:', 'Examples:', '--format']) {
      expect(stdout).toContain(word);
    }
    for (const line of stdout.split('\n')) expect(line.length).toBeLessThanOrEqual(120);
    expect(code).toBe(0);
  });

  it('--version is the version of the service', async () => {
    const { version } = JSON.parse(await readFile(join(PROJECT, 'package.json'), 'utf8')) as {
      version: string;
    };
    expect((await run(['--version'])).stdout).toBe(`${version}\n`);
  });
});

describe('the process', () => {
  it('ends at once on Ctrl-C, with the summary so far', async () => {
    const before = answeredImports();
    const { child, result } = new CommandProcess(service.url, ['import', '-']);
    child.stdin?.write(`x\n${plants(1, 1_999)}${plants(2_001, 2_001)}`);
    await vi.waitFor(async () => {
      expect(await storedCount()).toBe(3_999);
      expect(answeredImports()).toBe(before + 2);
    }, PATIENCE);
    child.kill('SIGINT');
    const { code, stdout, stderr } = await result;
    expect(stdout).toMatch(/^created 3999, unchanged 0, refused 1 /);
    expect(stderr).toContain('plant-store: interrupted\n');
    expect(code).toBe(130);
    expect(await readFile('stdin.refused.ndjson', 'utf8')).toBe('x\n');
  });

  it('ends quietly when its reader has seen enough', async () => {
    await service.database.query(
      `INSERT INTO plants (id, name) SELECT n, repeat('x', 1000) FROM generate_series(1, 3000) AS n`,
    );
    const { child, result } = new CommandProcess(service.url, ['export']);
    await once(child.stdout!, 'data');
    child.stdout?.destroy();
    expect(await result).toMatchObject({ code: 141, stderr: '' });
  });

  it('uses no more memory for a long file than for a short one', async () => {
    const url = await serve((request, response) => {
      request
        .on('data', () => {})
        .on('end', () => {
          response.writeHead(200, { 'Content-Type': 'application/x-ndjson' });
          response.end('{"created":0,"unchanged":0,"refused":0}\n');
        });
    });
    const report =
      'process.on("exit",()=>process.stderr.write(`${process.resourceUsage().maxRSS}`))';
    const peak = async (rows: number): Promise<number> => {
      // V8 lets the young generation grow with what passes through it, up to 48 MB, and collects later.
      const options = `--max-semi-space-size=2 --import=data:text/javascript,${encodeURIComponent(report)}`;
      const { child, result } = new CommandProcess(url, ['import', '-'], {
        env: { NODE_OPTIONS: options },
      });
      const line = Buffer.from(`{"id":1,"name":"${'x'.repeat(500)}"}\n`.repeat(1_000));
      Readable.from(
        (function* () {
          for (let sent = 0; sent < rows; sent += 1_000) yield line;
        })(),
      ).pipe(child.stdin!);
      const { code, stderr } = await result;
      expect(code).toBe(0);
      return Number(stderr);
    };
    expect((await peak(200_000)) / (await peak(40_000))).toBeLessThan(1.5);
  });
});
