import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { checks, ServiceProcess, TestedService } from '../src/index.js';
import type { Check, OpenApiDocument, Result } from '../src/index.js';
import { DOCUMENT, LARGE_DOCUMENT } from './support/sample-document.js';
import { OTHER_TOKEN, READ_TOKEN, startSample, TOKEN } from './support/sample-service.js';

const document = DOCUMENT as unknown as OpenApiDocument;
const largeDocument = LARGE_DOCUMENT as unknown as OpenApiDocument;

const TOKENS = { token: TOKEN, readToken: READ_TOKEN, otherToken: OTHER_TOKEN };

const isOfKills = ({ name }: Check) => name.startsWith('kill');

/** The results of checks, by default of all that need no kill. */
async function resultsOf(
  fault?: string,
  isWanted = (check: Check) => !isOfKills(check),
  tested = document,
): Promise<readonly Result[]> {
  const { url, stop } = await startSample(fault);
  onTestFinished(stop);
  const service = new TestedService(tested, { url, ...TOKENS });
  const results: Result[] = [];
  for (const check of checks(tested).filter(isWanted)) {
    results.push(await check.run(service));
  }
  expect(await service.removeRows()).toEqual([]);
  return results;
}

const namesOf = (results: readonly Result[], outcome: Result['outcome']) =>
  results.filter((each) => each.outcome === outcome).map(({ name }) => name);

it('a service that keeps all promises passes', async () => {
  const results = await resultsOf();
  expect(results.filter(({ outcome }) => outcome === 'fail')).toEqual([]);
  expect(namesOf(results, 'not applicable')).toEqual([
    'errors: of GET /notes/export',
    'errors: of GET /changes/latest',
    'memory while readers of notes stop reading',
  ]);
});

it('a service with nested lists, and rows that can be restored, passes', async () => {
  const results = await resultsOf(undefined, undefined, largeDocument);
  expect(results.filter(({ outcome }) => outcome === 'fail')).toEqual([]);
  expect(namesOf(results, 'pass')).toEqual(
    expect.arrayContaining([
      'errors: of POST /notes/{id}/restore',
      'list of folders/{folderId}/notes by id: its rows once',
      'list of folders/{folderId}/notes by -id: its rows once',
      'restores of notes: a removed row comes back as it was',
      'owners of notes: a hidden row is hidden everywhere',
      'rows of notes: linearizable',
      'feed changes: each change once, in order',
    ]),
  );
  expect(results).toContainEqual({
    name: 'owners of folders: a hidden row is hidden everywhere',
    outcome: 'not applicable',
    reason: 'the other token gets 200 for a row, not 404',
  });
});

it('a service passes twice with the values of one seed', async () => {
  const { url, stop } = await startSample();
  onTestFinished(stop);
  for (let run = 0; run < 2; run += 1) {
    const service = new TestedService(document, { url, token: TOKEN, seed: 7 });
    const wanted = checks(document).filter(({ name }) => name.startsWith('creates'));
    for (const check of wanted) expect(await check.run(service)).toMatchObject({ outcome: 'pass' });
    await service.removeRows();
  }
});

describe('a service that', () => {
  it.each([
    ['restores with the status 201', 'restores of notes: a removed row comes back as it was'],
    ['rejects each patch', 'owners of notes: a hidden row is hidden everywhere'],
  ])('%s passes', async (way, name) => {
    const results = await resultsOf(way, (check) => check.name === name, largeDocument);
    expect(results).toEqual([{ name, outcome: 'pass' }]);
  });

  it.each([
    ['mixes folders', 'list of folders/{folderId}/notes by id: its rows once'],
    ['repeats the folder in the Link', 'list of folders/{folderId}/notes by -id: its rows once'],
    ['restores nothing', 'restores of notes: a removed row comes back as it was'],
    ['restores another content', 'restores of notes: a removed row comes back as it was'],
    ['lists notes of others', 'owners of notes: a hidden row is hidden everywhere'],
    ['exports notes of others', 'owners of notes: a hidden row is hidden everywhere'],
    ['changes notes of others', 'owners of notes: a hidden row is hidden everywhere'],
  ])('%s is found by its larger document', async (fault, name) => {
    const results = await resultsOf(fault, (check) => check.name === name, largeDocument);
    expect(results).toMatchObject([{ name, outcome: 'fail' }]);
  });

  it.each([
    ['loses a retry', 'creates of notes: a repeated request has its effect once'],
    ['repeats a retry', 'creates of notes: a repeated request has its effect once'],
    ['reuses keys', 'creates of notes: another content does not take its place'],
    ['alters a value', 'creates of notes: every value is kept'],
    ['skips a row', 'list of notes by id: each row once'],
    ['pages by offset', 'list of notes by -id: each row once'],
    ['filters wrongly', 'list of notes: each filter finds a row with its value'],
    ['exports too little', 'export of notes: each row once'],
    ['has an open route', 'tokens: DELETE /notes/{id} needs one'],
    ['ignores scopes', 'tokens: POST /notes needs its scope'],
    ['sends an HTML error', 'errors: of an unknown path'],
    ['shows its stack', 'errors: of POST /notes'],
    ['makes numbers up', 'errors: of GET /notes/{id}'],
    ['has weak ETags', 'entity tags of notes: a strong one for each content'],
    ['keeps its ETags', 'entity tags of notes: a strong one for each content'],
    ['ignores If-Match', 'preconditions of notes: a stale one changes nothing'],
    ['has two winners', 'preconditions of notes: one of many changes at once wins'],
    ['reads what was', 'rows of notes: linearizable'],
    ['loses an update', 'rows of notes: linearizable'],
    ['loses a change', 'feed changes: each change once, in order'],
  ])('%s is found', async (fault, name) => {
    const results = await resultsOf(fault, (check) => check.name === name);
    expect(results).toMatchObject([{ name, outcome: 'fail' }]);
  });
});

it('a service that hangs fails by the name of the check, and the next check runs', async () => {
  const { url, stop } = await startSample('hangs');
  onTestFinished(stop);
  const service = new TestedService(document, { url, token: TOKEN, checkTimeout: 3_000 });
  const wanted = checks(document).filter(({ name }) => /^rows of|unknown path/.test(name));
  const results: Result[] = [];
  for (const check of wanted.toReversed()) results.push(await check.run(service));
  expect(results).toEqual([
    {
      name: 'rows of notes: linearizable',
      outcome: 'fail',
      reason: expect.stringMatching(
        /^the check has not ended after 3000 ms; it waits for .*GET \/notes\/\d+/,
      ),
      exchanges: [],
    },
    { name: 'errors: of an unknown path', outcome: 'pass' },
  ]);
  stop();
  // The rest would wait as long.
  expect(await service.removeRows()).toHaveLength(3);
});

describe('a kill', () => {
  const ofKills = checks(document).find(isOfKills);

  async function killed(fault: string, isDurable: boolean): Promise<Result> {
    const folder = await mkdtemp(join(tmpdir(), 'conformance-'));
    const port = await freePort();
    const sample = join(import.meta.dirname, 'support/sample-service.js');
    const journal = isDurable ? join(folder, 'journal') : '';
    const command = `exec '${process.execPath}' '${sample}' ${port} '${journal}' '${fault}'`;
    const url = `http://127.0.0.1:${port}`;
    const running = new ServiceProcess(command, url);
    onTestFinished(async () => {
      await running.stop();
      await rm(folder, { recursive: true });
    });
    await running.start();
    const service = new TestedService(document, { url, token: TOKEN }, running);
    return ofKills!.run(service);
  }

  it('is survived by what is stored at once', async () => {
    expect(await killed('', true)).toMatchObject({ outcome: 'pass' });
  });

  it('is found to lose rows', async () => {
    expect(await killed('', false)).toMatchObject({ outcome: 'fail' });
  });

  it('is found to double rows', async () => {
    expect(await killed('repeats a retry', true)).toMatchObject({ outcome: 'fail' });
  });
});

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}
