import { execFile } from 'node:child_process';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import type { RequestListener } from 'node:http';
import { Readable } from 'node:stream';
import { promisify } from 'node:util';
import { gzipSync } from 'node:zlib';
import { beforeEach, expect, it, vi } from 'vitest';
import { Run } from '../support/plant-store-command.js';
import type { Result, RunOptions } from '../support/plant-store-command.js';
import { enterFolder, serve } from './stand-ins.js';

/* What `plant-store import` says of its files, and writes for refused records. The service is a stub. */

/** Refuses each second record. */
const halfRefused: RequestListener = (request, response) => {
  let body = '';
  request.setEncoding('utf8').on('data', (text: string) => (body += text));
  request.on('end', () => {
    const records = body.trimEnd().split('\n');
    const refused = records.flatMap((_, at) => (at % 2 === 1 ? [at + 1] : []));
    const lines = refused.map(
      (line) => `{"line":${line},"error":40009,"message":"id \\"${line}\\", taken"}\n`,
    );
    const created = records.length - refused.length;
    response.writeHead(200, { 'Content-Type': 'application/x-ndjson' });
    response.end(
      `${lines.join('')}{"created":${created},"unchanged":0,"refused":${refused.length}}\n`,
    );
  });
};

const listener = vi.fn<RequestListener>();

let url: string;

beforeEach(enterFolder);

beforeEach(async () => {
  listener.mockReset().mockImplementation(halfRefused);
  url = await serve((request, response) => listener(request, response));
});

function run(args: readonly string[], options?: RunOptions): Promise<Result> {
  return new Run(url, args, options).result;
}

const CSV = 'id,name\n1,a\n2,b\n3,c\n4\n';

it('saves why records are refused, beside the records', async () => {
  await writeFile('a.csv', CSV);
  await writeFile('b.ndjson', '{"id":5}\n\n{"id":6}\n');
  const { code, stderr } = await run(['import', 'a.csv', 'b.ndjson', '--errors', 'e.ndjson']);
  expect(code).toBe(1);
  expect(stderr).toContain('\nThe reasons are in e.ndjson.\n');
  const lines = (await readFile('e.ndjson', 'utf8')).trimEnd().split('\n');
  expect(lines.map((line) => JSON.parse(line) as unknown)).toEqual([
    { file: 'a.csv', line: 3, error: 40009, message: 'id "2", taken' },
    { file: 'a.csv', line: 5, message: 'number of fields: 1 instead of 2' },
    { file: 'b.ndjson', line: 3, error: 40009, message: 'id "2", taken' },
  ]);
  expect(await readFile('a.refused.csv', 'utf8')).toBe('id,name\n2,b\n4\n');
});

it('saves the reasons as CSV, and never overwrites a file', async () => {
  await writeFile('a.csv', CSV);
  await writeFile('e.csv', 'precious');
  const { stderr } = await run(['import', 'a.csv', '--errors', 'e.csv']);
  expect(stderr).toContain('The reasons are in e-2.csv.\n');
  expect(await readFile('e.csv', 'utf8')).toBe('precious');
  expect(await readFile('e-2.csv', 'utf8')).toBe(
    'file,line,error,message\r\n"a.csv",3,40009,"id ""2"", taken"\r\n"a.csv",5,,"number of fields: 1 instead of 2"\r\n',
  );
});

it('makes no file of reasons if nothing is refused, and ends if it cannot write one', async () => {
  await writeFile('a.csv', 'id,name\n1,a\n');
  await run(['import', 'a.csv', '--errors', 'e.csv']);
  expect(await readdir('.')).toEqual(['a.csv']);
  await writeFile('a.csv', CSV);
  const name = `${'n'.repeat(300)}.csv`;
  const { code, stderr } = await run(['import', 'a.csv', '--errors', name]);
  expect(stderr).toContain(`plant-store: the errors cannot be written to ${name}: ENAMETOOLONG\n`);
  expect(code).toBe(3);
});

it.each([
  ['', 'the file is empty'],
  ['id,name,nonsense\n1,a,b\n', 'there is no column "nonsense"'],
  ['1,Ficus,tree\n', 'there is no column "1"'],
  ['name,tag\na,b\n', 'the column id is missing'],
  ['id,tag\n1,b\n', 'the column name is missing'],
  ['id,id\n1,2\n', 'the column id appears twice'],
  ['id,"name\n1,2\n', 'a quote is not closed'],
  ['id:name:tag\n1:Ficus:tree\n', 'there is no column "id:name:tag"'],
  [Buffer.from('id,n\xe4me\n', 'latin1'), 'it is not UTF-8'],
])('refuses a CSV file that begins with %j before anything is sent', async (text, fault) => {
  await writeFile('good.csv', CSV);
  await writeFile('a.csv', text);
  const columns =
    'the first line must have id and name, and may have tag, in any order and in UTF-8';
  const message = `1: ${fault}; ${columns}; --map renames or ignores columns\n`;
  const { code, stdout, stderr } = await run(['import', 'good.csv', 'a.csv']);
  expect(stderr).toBe(`plant-store: a.csv:${message}`);
  expect([code, stdout]).toEqual([2, '']);
  const piped = await run(['import', '--format', 'csv', '-'], {
    stdin: Readable.from([Buffer.from(text)]),
  });
  expect(piped).toEqual({ code: 2, stdout: '', stderr: `plant-store: stdin:${message}` });
  expect(listener).not.toHaveBeenCalled();
});

it('maps and ignores columns of a CSV file', async () => {
  await writeFile('a.csv', 'Nr.,a=b,remarks,tag\n1,Ficus,x,\n2,Aloe,"y,z",indoor\n');
  const map = ['--map', 'Nr.=id', '--map', 'a=b=name', '--map', 'remarks='];
  const bodies: string[] = [];
  listener.mockImplementation((request, response) => {
    request.on('data', (chunk: Buffer) => bodies.push(chunk.toString()));
    halfRefused(request, response);
  });
  const { code } = await run(['import', 'a.csv', ...map]);
  expect(bodies.join('')).toBe('{"id":1,"name":"Ficus"}\n{"id":2,"name":"Aloe","tag":"indoor"}\n');
  expect(code).toBe(1);
  expect(await readFile('a.refused.csv', 'utf8')).toBe(
    'Nr.,a=b,remarks,tag\n2,Aloe,"y,z",indoor\n',
  );
});

it.each([
  [['--map', 'Nr.=nonsense'], 'It must be THEIRS=NAME with a NAME of id,name,tag, or THEIRS=.'],
  [['--map', 'Nr.'], 'It must be THEIRS=NAME'],
  [['--map', '=id'], 'It must be THEIRS=NAME'],
  [['--map', 'Nr.=id', '--map', 'number=tag'], 'a.csv:1: the column "number" of --map is missing'],
  [['--map', 'Nr.=name'], 'a.csv:1: the column name appears twice'],
  [['--map', 'Nr.='], 'a.csv:1: the column id is missing'],
  [['--map', 'Nr.=id', '--map', 'name='], 'a.csv:1: the column name is missing'],
  [['--map', 'Nr.=id', '--format', 'ndjson'], '--map is for CSV'],
])('refuses a wrong map before anything is sent: %j', async (map, message) => {
  await writeFile('a.csv', 'Nr.,name\n1,Ficus\n');
  const { code, stderr } = await run(['import', 'a.csv', ...map]);
  expect(stderr).toContain(message);
  expect(code).toBe(2);
  expect(listener).not.toHaveBeenCalled();
});

it.each([
  ['id;name;tag\n1;"a;b";x,y\n', 'semicolons'],
  ['"id";"name";"tag"\r\n1;"a;b";x,y\r\n', 'semicolons'],
  ['\ufeffid\tname\ttag\r1\ta;b\tx,y\r', 'tabs'],
  ['id|name|tag\n1|a;b|x,y\n', 'vertical bars'],
])('reads what its header line separates otherwise, and says so: %j', async (text, plural) => {
  const bodies: string[] = [];
  listener.mockImplementation((request, response) => {
    request.on('data', (chunk: Buffer) => bodies.push(chunk.toString()));
    halfRefused(request, response);
  });
  await writeFile('a.csv', text);
  const { code, stderr } = await run(['import', 'a.csv']);
  expect([code, stderr]).toEqual([0, `a.csv: the columns are separated by ${plural}\n`]);
  const stdin = Readable.from(Array.from(Buffer.from(text), (byte) => Buffer.of(byte)));
  const piped = await run(['import', '--format', 'csv', '-'], { stdin });
  expect([piped.code, piped.stderr]).toEqual([
    0,
    `stdin: the columns are separated by ${plural}\n`,
  ]);
  expect(bodies).toEqual(Array(2).fill('{"id":1,"name":"a;b","tag":"x,y"}\n'));
});

it('takes commas first, also if a name that they separate has a semicolon', async () => {
  const bodies: string[] = [];
  listener.mockImplementation((request, response) => {
    request.on('data', (chunk: Buffer) => bodies.push(chunk.toString()));
    halfRefused(request, response);
  });
  await writeFile('a.csv', 'id,"Label;tag"\n1,Ficus\n');
  const { stderr } = await run(['import', 'a.csv', '--map', 'Label;tag=name']);
  expect(stderr).not.toContain('separated');
  expect(bodies).toEqual(['{"id":1,"name":"Ficus"}\n']);
});

it.each([
  [':', 'id:name\n1:a\n2:\n'],
  ['tab', 'id\tname\n1\ta\n2\t\n'],
])('--separator %s says what is between columns', async (separator, text) => {
  await writeFile('a.csv', text);
  const { code, stderr } = await run(['import', 'a.csv', '--separator', separator]);
  expect(stderr).not.toContain('separated');
  expect(code).toBe(1);
  expect(await readFile('a.refused.csv', 'utf8')).toBe(text.replace(/1.a\n/, ''));
});

it.each([
  [['--separator', '::'], 'It must be one character, such as ";", or tab.'],
  [['--separator', ';', '--format', 'ndjson'], '--separator is for CSV'],
  [['--refused', 'none/r.csv'], '--refused: there is no folder none'],
])('refuses wrong arguments before anything is sent: %j', async (args, message) => {
  await writeFile('a.csv', CSV);
  const { code, stderr } = await run(['import', 'a.csv', ...args]);
  expect([code, stderr]).toEqual([2, expect.stringContaining(message)]);
  expect(listener).not.toHaveBeenCalled();
});

it('says why a number with zeros before it is refused', async () => {
  await writeFile('a.csv', 'id,name\n007,a\n7,007\n');
  const { code, stdout, stderr } = await run(['import', 'a.csv', '--json']);
  expect(stderr).toContain('a.csv:2: id must be a number without zeros before it, but is 007\n');
  expect(code).toBe(1);
  expect(JSON.parse(stdout)).toEqual({
    created: 1,
    unchanged: 0,
    refused: 1,
    seconds: expect.any(Number) as number,
    refusedFiles: ['a.refused.csv'],
  });
});

const WORKBOOK = 'is a workbook of a spreadsheet: save it there as CSV in UTF-8, and import that';

it.each([
  [
    'a.csv.gz',
    gzipSync(CSV),
    'is compressed with gzip: gunzip -c a.csv.gz | plant-store import --format csv -',
  ],
  ['a.csv', gzipSync(CSV), 'is compressed with gzip: gunzip -c a.csv |'],
  [`It's.csv.gz`, gzipSync(CSV), String.raw`gunzip -c 'It'\''s.csv.gz' | plant-store import `],
  ['a.ndjson', gzipSync('{}'), 'gunzip -c a.ndjson | plant-store import -\n'],
  ['a.xlsx', Buffer.from('PK\x03\x04\x14\0', 'latin1'), WORKBOOK],
  ['a.xls', Buffer.from('d0cf11e0a1b11ae1', 'hex'), WORKBOOK],
])('tells by its first bytes what %s is instead of text', async (name, bytes, message) => {
  await writeFile(name, bytes);
  const { code, stderr } = await run(['import', name]);
  expect(stderr).toContain(`plant-store: ${name} `);
  expect(stderr).toContain(message);
  const stdin = Readable.from([bytes]);
  const piped = await run(['import', '-'], { stdin });
  expect(piped.stderr).toMatch(/^plant-store: stdin is /);
  expect([code, piped.code]).toEqual([2, 2]);
  expect(listener).not.toHaveBeenCalled();
});

it('says how to import a compressed file instead of standard input', async () => {
  for (const option of ['', '--format csv ']) {
    const stdin = Readable.from([gzipSync(CSV)]);
    const { stderr } = await run(['import', ...option.split(' ').slice(0, -1), '-'], { stdin });
    expect(stderr).toBe(
      `plant-store: stdin is compressed with gzip: gunzip -c FILE | plant-store import ${option}-\n`,
    );
  }
});

function bigEndian(text: string): Buffer {
  return Buffer.from(text, 'utf16le').swap16();
}

it.each([
  ['csv', Buffer.from(`\ufeff${CSV}`, 'utf16le')],
  ['csv', bigEndian(`\ufeff${CSV}`)],
  ['csv', Buffer.from(CSV, 'utf16le')],
  ['ndjson', Buffer.from('\ufeff{"id":1,"name":"月"}\r\n', 'utf16le')],
  ['ndjson', bigEndian('{"id":1,"name":"a"}\n')],
  ['ndjson', Buffer.from('\ufeff', 'utf16le')],
])('refuses %s in UTF-16: %j', async (format, bytes) => {
  await writeFile(`a.${format}`, bytes);
  const message = 'is in UTF-16: convert it to UTF-8, for example with iconv -f UTF-16 -t UTF-8\n';
  const { code, stdout, stderr } = await run(['import', `a.${format}`]);
  expect([code, stdout, stderr]).toEqual([2, '', `plant-store: a.${format} ${message}`]);
  const pieces = Array.from(bytes, (byte) => Buffer.of(byte));
  const stdin = Readable.from(pieces);
  const piped = await run(['import', '--format', format, '-'], { stdin });
  expect([piped.code, piped.stderr]).toEqual([2, `plant-store: stdin ${message}`]);
  expect(listener).not.toHaveBeenCalled();
});

it('reads a pipe once, and says that the import is incomplete if a later file is wrong', async () => {
  await promisify(execFile)('mkfifo', ['good.csv', 'bad.csv']);
  const result = run(['import', 'good.csv', 'bad.csv']);
  await writeFile('good.csv', 'id,name\n1,a\n');
  await writeFile('bad.csv', 'nonsense\nx\n');
  const { code, stdout, stderr } = await result;
  expect(stdout).toMatch(/^created 1, /);
  expect(stderr).toContain('plant-store: bad.csv:1: there is no column "nonsense"; ');
  expect(stderr).toContain('The import is incomplete. Mend the file, then run it again: ');
  expect(code).toBe(3);
});
