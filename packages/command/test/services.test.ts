import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { documentWith, feed, resource, runWith, WEBHOOKS } from './support/tool-library.js';

const TOOLS = resource('tools');

describe('the command of a service', () => {
  it('has its name, its variables and its resources', async () => {
    const { code, stdout } = await runWith(documentWith(TOOLS, feed('changes')), ['--help']);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^Usage: tool-library /);
    expect(stdout.replaceAll(/\s+/g, ' ')).toContain(
      'The command of a tool library: import and export tools, follow changes, and issue tokens.',
    );
    expect(stdout).toMatch(/^ {2}TOOL_LIBRARY_TOKEN_FILE {2}file with the token/m);
    expect((await runWith(documentWith(TOOLS), ['--version'])).stdout).toBe('1.2.3\n');
    const { stderr } = await runWith(documentWith(TOOLS), ['export']);
    expect(stderr).toBe(
      'tool-library: TOOL_LIBRARY_URL is not set, and no service runs in this folder\n',
    );
  });

  it('manages webhooks if it has some, with the kinds and resources of their messages', async () => {
    const { paths, webhooks } = WEBHOOKS;
    const document = { ...documentWith(TOOLS, paths), webhooks };
    const { stdout } = await runWith(document, ['--help']);
    expect(stdout.replaceAll(/\s+/g, ' ')).toContain(', manage webhooks, and issue tokens.');
    const listen = (await runWith(document, ['listen', '--help'])).stdout.replaceAll(/\s+/g, ' ');
    expect(listen).toContain('(choices: "created", "removed")');
    expect(listen).toContain('(choices: "tool", "loan")');
    expect((await runWith(documentWith(TOOLS), ['listen'])).code).toBe(2);
  });

  it('works on the first resource unless another one is chosen', async () => {
    const document = documentWith(resource('loans'), TOOLS);
    const help = async (...args: readonly string[]) =>
      (await runWith(document, ['export', '--help', ...args])).stdout;
    expect(await help()).toContain('  tool-library export --output loans.csv\n');
    expect(await help('--resource', 'tools')).toContain(
      '  tool-library export --resource tools --output tools.csv\n',
    );
    const unknown = await runWith(document, ['export', '--resource', 'saws']);
    expect([unknown.code, unknown.stderr]).toEqual([2, expect.stringContaining('loans, tools')]);
  });

  it('exports what cannot be imported, and imports what can', async () => {
    const { [`/loans/import`]: _, ...loans } = resource('loans');
    const both = await runWith(documentWith(loans, TOOLS), ['--help']);
    expect(both.stdout.replaceAll(/\s+/g, ' ')).toContain(
      'import and export tools, export loans, and issue tokens.',
    );
    const help = await runWith(documentWith(loans, TOOLS), ['import', '--help']);
    expect(help.stdout).toContain('  tool-library import tools.csv\n');
    const refused = await runWith(documentWith(loans, TOOLS), ['import', '--resource', 'loans']);
    expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining('tools')]);
    const { code, stderr } = await runWith(documentWith(loans), ['import']);
    expect([code, stderr]).toEqual([2, expect.stringContaining("unknown command 'import'")]);
    expect((await runWith(documentWith(loans), ['export', '--help'])).code).toBe(0);
  });

  it.each([
    ['a feed', documentWith(TOOLS), 'changes'],
    ['a resource', documentWith(feed('changes')), 'import'],
    ['a resource', documentWith(), 'export'],
  ])('without %s has no such command', async (_what, document, command) => {
    const { code, stderr } = await runWith(document, [command]);
    expect([code, stderr]).toEqual([2, `error: unknown command '${command}'\n`]);
    expect((await runWith(document, ['token', 'create', '--help'])).code).toBe(0);
  });
});

it('an export of records whose ids are UUIDs goes on after the last one', async () => {
  const ids = ['01920000-0000-7000-8000-00000000000a', '01920000-0000-7000-8000-00000000000b'];
  const requests: string[] = [];
  const server = createServer((request, response) => {
    requests.push(request.url!);
    const id = ids[requests.length - 1];
    response.writeHead(200, { 'Content-Type': 'application/x-ndjson' });
    // The first answer lacks its empty line at the end.
    response.end(`{"id":"${id}"}\n${requests.length > 1 ? '\n' : ''}`);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const env = { TOOL_LIBRARY_URL: `http://127.0.0.1:${port}`, TOOL_LIBRARY_TOKEN: 'secret' };
  const { code, stdout } = await runWith(documentWith(TOOLS), ['export'], env);
  server.close();
  expect([code, stdout]).toEqual([0, ids.map((id) => `{"id":"${id}"}\n`).join('')]);
  expect(requests).toEqual(['/tools/export', `/tools/export?after=${ids[0]}`]);
});

it('a filter that is named like an option of the command has another option', async () => {
  const requests: string[] = [];
  const server = createServer((request, response) => {
    requests.push(request.url!);
    response.writeHead(200, { 'Content-Type': 'application/x-ndjson' });
    response.end('\n');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const env = { TOOL_LIBRARY_URL: `http://127.0.0.1:${port}`, TOOL_LIBRARY_TOKEN: 'secret' };
  const document = documentWith(resource('tools', 'format', 'version', 'noShow', 'size'));
  const filters = ['--filter-format', '7', '--filter-version', '2', '--filter-no-show', '3'];
  const { code, stderr } = await runWith(document, ['export', ...filters, '--size', '4'], env);
  server.close();
  expect([code, stderr]).toEqual([0, expect.stringContaining('exported 0 tools')]);
  expect(requests).toEqual(['/tools/export?format=7&version=2&noShow=3&size=4']);
});

it.each([
  ['export', (names: readonly string[]) => documentWith(resource('tools', ...names))],
  [
    'changes',
    (names: readonly string[]) =>
      documentWith(...names.map((name) => feed(`${name}-changes`, name)), feed('changes')),
  ],
])('each option of %s can be the name of a property', async (command, documentOf) => {
  const { stdout } = await runWith(documentOf(['size']), [command, '--help']);
  const options = [...stdout.matchAll(/^ {2}(?:-h, )?--([a-z-]+)/gm)].map(([, option = '']) =>
    option.replaceAll(/-([a-z])/g, (_, letter: string) => letter.toUpperCase()),
  );
  expect(options).toEqual(expect.arrayContaining(['help', command === 'export' ? 'json' : 'feed']));
  const document = documentOf(options);
  for (const option of options) {
    const chosen = command === 'changes' ? ['--feed', `${option}-changes`] : [];
    const { code, stderr } = await runWith(document, [command, ...chosen, '--help']);
    expect([option, code, stderr]).toEqual([option, 0, '']);
  }
});

describe('changes', () => {
  const requests: string[] = [];
  const server = createServer((request, response) => {
    requests.push(request.url!);
    response.writeHead(200, { 'Content-Type': 'application/json' });
    response.end(request.url!.endsWith('/latest') ? '{"position":3}' : '[{"position":3,"id":7}]');
  });
  let env: Record<string, string>;

  beforeEach(async () => {
    requests.length = 0;
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    env = { TOOL_LIBRARY_URL: `http://127.0.0.1:${port}`, TOOL_LIBRARY_TOKEN: 'secret' };
  });

  afterEach(async () => {
    server.close();
    server.closeAllConnections();
    await once(server, 'close');
  });

  it('are read from the path of the feed, with its parameter', async () => {
    const document = documentWith(feed('tools/changes', 'toolId'));
    const args = ['changes', '--tool-id', '7'];
    expect(await runWith(document, args, env)).toEqual({
      code: 0,
      stdout: '{"position":3,"id":7}\n',
      stderr: '',
    });
    expect(requests).toEqual(['/tools/changes/latest', '/tools/changes?toolId=7&limit=1000']);
    const { code, stderr } = await runWith(document, ['changes', '--tool-id', 'x'], env);
    expect([code, stderr]).toEqual([2, expect.stringContaining('It must be a 64-bit integer.')]);
  });

  it('of one record are chosen by another option where the property is named like one', async () => {
    const document = documentWith(feed('changes', 'follow'));
    expect((await runWith(document, ['changes', '--filter-follow', '7'], env)).code).toBe(0);
    expect(requests).toEqual(['/changes/latest', '/changes?follow=7&limit=1000']);
  });

  it('are those of the first feed unless another one is chosen, also in what is to continue', async () => {
    const document = documentWith(feed('changes'), feed('loans/changes', 'loan'));
    await runWith(document, ['changes'], env);
    expect(requests).toEqual(['/changes/latest', '/changes?limit=1000']);
    requests.length = 0;
    await runWith(document, ['changes', '--feed', 'loans/changes'], env);
    expect(requests).toEqual(['/loans/changes/latest', '/loans/changes?limit=1000']);
    // Nobody listens there.
    const away = { ...env, TOOL_LIBRARY_URL: 'http://127.0.0.1:1' };
    const args = ['changes', '--feed', 'loans/changes', '--after', '5', '--loan', '7'];
    const { stderr } = await runWith(document, args, away, { firstContact: 0 });
    expect(stderr).toContain(
      'to continue: tool-library changes --feed loans/changes --after 5 --loan 7\n',
    );
  });
});
