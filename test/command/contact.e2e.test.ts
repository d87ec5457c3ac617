import { writeFileSync } from 'node:fs';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { beforeEach, describe, expect, it } from 'vitest';
import { Run } from '../support/plant-store-command.js';
import { enterFolder, serve } from './stand-ins.js';

/* Which service `plant-store` talks to, and what it says of that. The service is a stub. */

const EXPORTED = '{"id":1,"name":"Aloe"}\n\n';

beforeEach(enterFolder);

/** A service that accepts one token. */
function serviceWith(token: string): Promise<string> {
  return serve(({ headers }, response) => {
    const isRight = headers.authorization === `Bearer ${token}`;
    response.writeHead(isRight ? 200 : 401, {
      'Content-Type': isRight ? 'application/x-ndjson' : 'application/json',
    });
    response.end(isRight ? EXPORTED : '{"error":40101,"message":"the token is not valid"}');
  });
}

describe('the service of this folder', () => {
  const NONE = { PLANT_STORE_URL: '', PLANT_STORE_TOKEN: '' };
  const token = 'a-token-of-more-than-thirty-two-characters';

  it('is the one that npm start runs, with its generated token', async () => {
    const { port } = new URL(await serviceWith(token));
    await mkdir('.data');
    await writeFile('.data/token', `${token}\n`);
    const { code, stdout } = await new Run('', ['export'], { env: { ...NONE, PORT: port } }).result;
    expect([code, stdout]).toEqual([0, '{"id":1,"name":"Aloe"}\n']);
  });

  it('is the one of .env', async () => {
    const { port } = new URL(await serviceWith(token));
    const lines = [`PORT=${port}`, `AUTH_TOKEN=${token}`, 'DATABASE_URL=postgres://a@b.test/c'];
    await writeFile('.env', lines.join('\n'));
    const { code, stdout } = await new Run('', ['export'], { env: NONE }).result;
    expect([code, stdout]).toEqual([0, '{"id":1,"name":"Aloe"}\n']);
  });

  it('is missing', async () => {
    const { code, stderr } = await new Run('', ['export'], { env: NONE }).result;
    const message = 'plant-store: PLANT_STORE_URL is not set, and no service runs in this folder\n';
    expect([code, stderr]).toEqual([2, message]);
  });
});

describe('a token that is not valid', () => {
  it.each([
    [{}, 'PLANT_STORE_TOKEN'],
    [{ PLANT_STORE_TOKEN: '', PLANT_STORE_TOKEN_FILE: 'token' }, 'PLANT_STORE_TOKEN_FILE'],
  ])('is told with its variable: %j', async (env, variable) => {
    await writeFile('token', 'another');
    const url = await serviceWith('right');
    for (const args of [['export'], ['changes']]) {
      const { code, stderr } = await new Run(url, args, { env }).result;
      expect(stderr).toContain(`plant-store: 40101 the token is not valid: check ${variable}\n`);
      expect(code).toBe(3);
    }
  });
});

it('an argument that the service rejects ends the command like a wrong one', async () => {
  const url = await serve((_request, response) => {
    response.writeHead(400, { 'Content-Type': 'application/json' });
    response.end('{"error":40004,"message":"tag must be shorter"}');
  });
  for (const args of [['export', '--tag', 'x'], ['changes']]) {
    const { code, stdout, stderr } = await new Run(url, args).result;
    expect([code, stdout, stderr]).toEqual([2, '', 'plant-store: 40004 tag must be shorter\n']);
  }
});

it('an export replaces a file only if it is told to', async () => {
  const url = await serviceWith('right');
  const env = { PLANT_STORE_TOKEN: 'right' };
  await writeFile('a.ndjson', 'precious');
  const args = ['export', '--output', 'a.ndjson'];
  const { code, stderr } = await new Run(url, args, { env }).result;
  expect(stderr).toBe(
    'plant-store: a.ndjson exists: choose another --output, or replace it with --overwrite\n',
  );
  expect([code, await readFile('a.ndjson', 'utf8')]).toEqual([2, 'precious']);
  const replaced = await new Run(url, [...args, '--overwrite', '--json'], { env }).result;
  expect(replaced.code).toBe(0);
  expect(JSON.parse(replaced.stdout)).toEqual({
    exported: 1,
    seconds: expect.any(Number) as number,
    formulas: 0,
  });
  expect(await readFile('a.ndjson', 'utf8')).toBe('{"id":1,"name":"Aloe"}\n');
});

it('an export replaces no file that is made meanwhile, and keeps what it has', async () => {
  const url = await serve((_request, response) => {
    writeFileSync('a.ndjson', 'precious');
    response.writeHead(200, { 'Content-Type': 'application/x-ndjson' });
    response.end(EXPORTED);
  });
  const { code, stderr } = await new Run(url, ['export', '--output', 'a.ndjson']).result;
  const [, complete = ''] =
    /a\.ndjson was made during the export, which is complete in (\S+)\n/.exec(stderr) ?? [];
  expect([code, await readFile('a.ndjson', 'utf8')]).toEqual([3, 'precious']);
  expect(await readFile(complete, 'utf8')).toBe('{"id":1,"name":"Aloe"}\n');
});

it('an export has its summary as JSON only beside a file', async () => {
  const { code, stderr } = await new Run('http://localhost:1', ['export', '--json']).result;
  const message = 'plant-store: --json needs --output: standard output has the records\n';
  expect([code, stderr]).toEqual([2, message]);
});
