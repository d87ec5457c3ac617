import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { codeSamples, LANGUAGES } from '../../public/code-samples/code-samples.js';
import { highlighted } from '../../public/code-samples/highlight.js';
import { PLACEHOLDERS } from '../../public/code-samples/request.js';

const NAME = `It's "50%" \\ $HOME \`id\` 🌵\r\n`;
const BODY = JSON.stringify({ name: NAME });

const json = (value: object) => ({
  type: 'application/json',
  text: JSON.stringify(value),
  values: [value],
});

const post = (body: Parameters<typeof codeSamples>[0]['body']) =>
  codeSamples({ method: 'POST', path: '/others', headers: {}, ...(body && { body }) });

describe('the code samples', () => {
  it('quote a body for each language', async () => {
    const samples = post(json({ name: NAME }));
    const line = samples.curl.replace(/^curl /, `printf '%s\\n' `);
    const { stdout } = await promisify(execFile)('bash', ['-c', line]);
    expect(stdout.split('\n')).toContain(BODY);
    const [, literal] = /body: ('.*'),\n/.exec(samples.TypeScript) ?? [];
    // oxlint-disable-next-line no-eval
    expect((0, eval)(literal ?? '')).toBe(BODY);
    const [, dictionary] = /json=(.*),\n/.exec(samples.Python) ?? [];
    const program = `import json; print(json.dumps(${dictionary}))`;
    const python = await promisify(execFile)('python3', ['-c', program]);
    expect(JSON.parse(python.stdout)).toEqual({ name: NAME });
    // A literal in back quotes cannot contain them.
    expect(samples.Go).toContain(`strings.NewReader(${JSON.stringify(BODY)})`);
    expect(post(json({ name: 'It\\' })).Go).toContain('strings.NewReader(`{"name":"It\\\\"}`)');
  });

  it('keep the lines of a body, also when a file takes its place', async () => {
    const lines = `${BODY}\r\n${BODY}\r\n`;
    const record = { name: NAME };
    const samples = post({ type: 'application/x-ndjson', text: lines, values: [record, record] });
    const print = samples.curl.replace(/^curl /, `printf '%s\\n' `);
    const { stdout } = await promisify(execFile)('bash', ['-c', print]);
    expect(stdout).toContain(`Content-Type: application/x-ndjson\n--data-binary\n${lines}`);
    expect(samples.TypeScript).toContain(`'Content-Type': 'application/x-ndjson',`);
    const [, literal] = /body: ('.*'),\n/.exec(samples.TypeScript) ?? [];
    // oxlint-disable-next-line no-eval
    expect((0, eval)(literal ?? '')).toBe(lines);
    const [, records, data] = /(records = .*?)\nresponse.*data=(.*?),\n/s.exec(samples.Python)!;
    const program = `import json\n${records}\nprint(${data})`;
    const python = await promisify(execFile)('python3', ['-c', program]);
    expect(
      python.stdout
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line)),
    ).toEqual([record, record]);
  });

  it.each(LANGUAGES)('send text that looks like an address or a token as it is: %s', (language) => {
    const name = 'http://localhost:3000 YOUR_TOKEN';
    const html = highlighted(post(json({ name }))[language], language);
    expect(html).toContain(name);
    expect(html.match(/data-fill="base"/g)).toHaveLength(1);
    expect(html.match(/data-fill="token"/g)).toHaveLength(1);
  });

  it('send a file instead of a body', async () => {
    const file = "it's.ndjson";
    const samples = post({ type: 'application/x-ndjson', file });
    const line = samples.curl.replace(/^curl /, `printf '%s\\n' `);
    const { stdout } = await promisify(execFile)('bash', ['-c', line]);
    expect(stdout).toContain(`Content-Type: application/x-ndjson\n--data-binary\n@${file}\n`);
    expect(samples.TypeScript).toContain(String.raw`  body: await openAsBlob('it\'s.ndjson'),`);
    expect(samples.Python).toContain(`    data=open("it's.ndjson", "rb"),\n`);
    expect(samples.Go).toContain(`body, err := os.Open("it's.ndjson")\n`);
  });

  it('send no text for a file, and no file for a text', () => {
    expect(post({ type: 'text/csv', text: '@id' }).curl).toContain(`--data-raw '@id'`);
    expect(post({ type: 'text/csv', text: '' }).TypeScript).toContain(`  body: '',\n`);
    const withMark = post({ type: 'text/csv', text: '\uFEFFid' });
    expect(withMark.Go).toContain(String.raw`strings.NewReader("\ufeffid")`);
  });

  it('send other text as it is', () => {
    const samples = post({ type: 'text/csv', text: 'id,name\n' });
    expect(samples.curl).toContain(`--data-binary 'id,name\n'`);
    expect(samples.Python).toContain(String.raw`data="id,name\n",`);
  });

  it('have the value of each language, with all digits', () => {
    const value = { id: 9007199254740993n, wet: true, note: null, parts: [1n, {}], size: 1.5 };
    const { TypeScript, Python } = codeSamples(
      {
        method: 'POST',
        path: '/beds',
        headers: {},
        body: { type: 'application/json', text: '', values: [value] },
        resource: { name: 'beds', int64: ['id'] },
      },
      { package: '@tool-library/client' },
    );
    expect(TypeScript).toContain("import { Resource } from '@tool-library/client';");
    expect(TypeScript).toContain("new Resource('beds', ['id'], {");
    for (const line of ['id: 9007199254740993n,', 'wet: true,', 'note: null,', 'parts: [1, {}],']) {
      expect(TypeScript).toContain(line);
    }
    for (const line of ['"id": 9007199254740993,', '"wet": True,', '"note": None,', '[1, {}],']) {
      expect(Python).toContain(line);
    }
  });

  it.each([
    ['its list', { path: '/tools', resource: { name: 'tools', int64: ['id'] } }, 'tools()'],
    ['the changes', { path: '/changes' }, 'changes()'],
  ])('use the class that a resource has in the client: %s', (_, request, call) => {
    const resource = { name: 'tools', className: 'ToolLibrary' };
    const client = { package: '@tool-library/client', resource };
    const { TypeScript } = codeSamples({ method: 'GET', headers: {}, ...request }, client);
    expect(TypeScript).toContain("import { ToolLibrary } from '@tool-library/client';");
    expect(TypeScript).toContain('const store = new ToolLibrary({');
    expect(TypeScript).toContain(` of store.${call}) `);
  });

  it.each([
    ['7', 'get(7n)'],
    ['0', 'get(0n)'],
    ['-7', 'get(-7n)'],
    ['007', "get('007')"],
    ['019a2b3c-0000-7000-8000-000000000001', "get('019a2b3c-0000-7000-8000-000000000001')"],
  ])('have an id as the client takes it: %s', (id, call) => {
    const { TypeScript } = codeSamples(
      {
        method: 'GET',
        path: `/tools/${id}`,
        headers: {},
        resource: { name: 'tools', id, int64: [] },
      },
      { package: '@tool-library/client' },
    );
    expect(TypeScript).toContain(call);
  });

  it.each([
    ['POST', '/tools', `const created = await tools.create({ id: 7n, name: 'Saw' });`],
    ['GET', '/tools', 'for await (const one of tools.all()) console.log(one);'],
    ['GET', '/tools/export', 'for await (const one of tools.export()) console.log(one);'],
    ['POST', '/tools/import', 'const running = tools.import('],
    ['GET', '/tools/7', 'const found = await tools.get(7n);'],
    ['PUT', '/tools/7', `const changed = await tools.replace(7n, { id: 7n, name: 'Saw' });`],
    ['PATCH', '/tools/7', `const changed = await tools.patch(7n, { id: 7n, name: 'Saw' });`],
    ['DELETE', '/tools/7', 'await tools.remove(7n);'],
    ['GET', '/changes/latest', 'console.log(await tools.latestPosition());'],
    ['GET', '/tools/7/loans', 'await fetch('],
  ])('call what the client has for an operation: %s %s', (method, path, call) => {
    const value = { id: 7n, name: 'Saw' };
    const body = { type: 'application/json', text: '{"id":7,"name":"Saw"}', values: [value] };
    const { TypeScript } = codeSamples(
      {
        method,
        path,
        headers: {},
        ...(method.startsWith('P') && { body }),
        resource: { name: 'tools', ...(path.includes('7') && { id: '7' }), int64: ['id'] },
      },
      { package: '@tool-library/client' },
    );
    expect(TypeScript).toContain(call);
  });

  it('say what to install', () => {
    const request = { method: 'GET', path: '/tools', headers: {} };
    const resource = { name: 'tools', int64: ['id'] };
    const sample = (tarball?: string) =>
      codeSamples(
        { ...request, resource },
        { package: '@tool-library/client', ...(tarball !== undefined && { tarball }) },
      );
    expect(sample().TypeScript).toMatch(/^\/\/ npm install @tool-library\/client\nimport /);
    const installation = `// npm install ${PLACEHOLDERS.base}/docs/client.tgz\nimport `;
    expect(sample('docs/client.tgz').TypeScript.startsWith(installation)).toBe(true);
    expect(sample().Python).toMatch(/^# pip install requests\nimport requests\n/);
  });

  it.each([
    ['without a client', '/tools', undefined],
    ['with a client of no such operation', '/changes', { package: '@tool-library/client' }],
  ])('use fetch %s', (_, path, client) => {
    const resource = path === '/tools' ? { name: 'tools', int64: ['id'] } : undefined;
    const request = { method: 'GET', path, headers: {}, ...(resource && { resource }) };
    expect(codeSamples(request, client).TypeScript).toMatch(/^const response = await fetch\(/);
  });
});
