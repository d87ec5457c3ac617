import { posix } from 'node:path';
import { expect, it } from 'vitest';
import { apiReference } from '../../src/index.js';
import type { ReferenceFile, ReferenceOptions } from '../../src/index.js';
import { TOOLS } from '../support/tools.js';

const ISSUER = 'https://id.example.com/tenant';

type Files = ReadonlyMap<string, ReferenceFile>;

const textOf = async (files: Files, path: string) => String(await files.get(path)!.content());

const page = (options?: ReferenceOptions) => textOf(apiReference(TOOLS, options), 'docs');

const withoutTags = (html: string) => html.replaceAll(/<[^>]*>/g, '');

/** What a page refers to. */
function references(html: string): string[] {
  return [...html.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, url]) => url!);
}

it.each<[string, ReferenceOptions, string, string]>([
  ['for a server', {}, 'docs', 'docs/swagger-ui'],
  ['with sign-in', { issuer: ISSUER }, 'docs', 'docs/swagger-ui'],
  ['for a host of files', { extension: '.html' }, 'docs.html', 'docs/swagger-ui.html'],
])('has every file that its pages refer to, %s', async (_, options, ...pages) => {
  const files = apiReference(TOOLS, options);
  for (const path of pages) {
    const text = await textOf(files, path);
    const [anchors, others] = [/^#/, /^[^#]/].map((kind) =>
      references(text).filter((url) => kind.test(url)),
    );
    for (const anchor of anchors!) expect(text).toContain(`id="${anchor.slice(1)}"`);
    expect(others!.length).toBeGreaterThan(3);
    for (const url of others!) expect(files.keys()).toContain(posix.join(path, '..', url));
  }
  expect(references(await textOf(files, pages[0]))).toContain(pages[1]);
});

it('says the type of each file, and makes each', async () => {
  const files = apiReference(TOOLS, { issuer: ISSUER });
  const types = {
    '': 'text/html',
    '.css': 'text/css',
    '.js': 'text/javascript',
    '.json': 'application/json',
    '.svg': 'image/svg+xml',
    '.yaml': 'application/yaml',
  };
  for (const [path, { type, content }] of files) {
    expect({ path, type }).toEqual({ path, type: Reflect.get(types, posix.extname(path)) });
    expect((await content()).length).toBeGreaterThan(100);
  }
});

it('has the document with every digit, as it is and as YAML', async () => {
  const files = apiReference(TOOLS);
  expect(await textOf(files, 'openapi.json')).toBe(TOOLS);
  expect(await textOf(files, 'openapi.yaml')).toContain('example: 9007199254740993');
  const docs = await textOf(files, 'docs');
  expect(docs.match(/9007199254740993/g)!.length).toBeGreaterThan(6);
  expect(docs).toContain('<code>9223372036854775807</code>');
});

it('is called what the document says, also where this is HTML', async () => {
  const files = apiReference(TOOLS.replaceAll('Tool Library', 'Nuts & <b>'));
  expect(await textOf(files, 'docs')).toContain('<title>Nuts &amp; &lt;b&gt;</title>');
  const swagger = await textOf(files, 'docs/swagger-ui');
  expect(swagger).toContain('<title>Nuts &amp; &lt;b&gt; · Swagger UI</title>');
});

it('says what the service adds to the document', async () => {
  const errors = [
    { number: 40020, message: 'the id belongs to another tool', remedy: 'Take *another* id.' },
    { number: 40400, message: 'there is no such path', remedy: 'Read the page.' },
  ];
  const text = await page({
    version: '3.4.5',
    errors,
    homepage: 'https://example.com/docs',
    client: { package: '@tool-library/client' },
    tokenHelp: 'Ask `somebody`.',
  });
  expect(text).toContain('Interface 2.0.0 · Service 3.4.5');
  expect(text).toContain('<td>Take <em>another</em> id.</td>');
  expect(text).toMatch(/Other errors<\/h2>\s*<table.*40400.*there is no such path/s);
  expect(text).toContain('<a href="https://example.com/docs">Docs</a>');
  expect(withoutTags(text)).toContain('import { Resource } from &#39;@tool-library/client&#39;');
  expect(text).toContain('Every request needs a token. Ask <code>somebody</code>.');
  expect(text).toContain('Tool Library, MIT licence');
});

it('has a button of its own to sign in, where one can', async () => {
  const bar = /<div class="sidebar-bar">.*?<\/div>/s;
  const [withIssuer] = bar.exec(await page({ issuer: ISSUER })) ?? [];
  expect(withIssuer).toMatch(/<button[^>]*>Sign in<\/button>.*<button[^>]*>Enter a token</s);
  expect(await page()).not.toContain('Sign in');
  expect(withIssuer).not.toMatch(/authorize/i);
});

it('has the address of the service, if the document does', async () => {
  const servers = '"servers": [{ "url": "/api" }, { "url": "https://example.com/api/" }], "tags"';
  const text = await textOf(apiReference(TOOLS.replace('"tags"', servers)), 'docs');
  expect(withoutTags(text)).toContain('Base URL https://example.com/api\n');
  expect(withoutTags(text)).toContain('curl https://example.com/api/tools/9007199254740993 ');
  expect(withoutTags(await page())).toContain('Base URL http://localhost:3000\n');
});

it('has code in colors, in which every character is left', async () => {
  const text = await page();
  const [, sample = ''] = /data-sample="Python".*?<pre><code>(.*?)<\/code>/s.exec(text) ?? [];
  expect(sample).toMatch(/^# pip install requests\n<span class="word">import<\/span> requests\n/);
  expect(sample).toContain(
    '<span class="key">&#34;id&#34;</span>: <span class="number">9007199254740993</span>',
  );
  expect(sample).toContain(
    '<span class="string">&#34;Bearer <span data-fill="token">YOUR_TOKEN</span>&#34;</span>',
  );
  expect(withoutTags(sample).replaceAll('&#34;', '"')).toBe(`# pip install requests
import requests

response = requests.post(
    "http://localhost:3000/tools",
    headers={"Authorization": "Bearer YOUR_TOKEN"},
    json={"id": 9007199254740993, "name": "Hammer"},
)
print(response.status_code, response.text)`);
});

it('says nothing of what it does not know', async () => {
  const text = await textOf(apiReference(TOOLS.replace(/"license": \{.*?\},/, '')), 'docs');
  expect(text).toContain('Interface 2.0.0</p>');
  expect(withoutTags(text)).toContain('await fetch(');
  expect(text).toContain('Ask the operator for one.');
  expect(text).toContain('>Tool Library</footer>');
  expect(text).not.toMatch(/undefined|sign-in|>Docs<|Other errors|licence/);
});

it('reads a document in which hardly anything is named, and that contains itself', async () => {
  const { paths, components } = JSON.parse(TOOLS) as Record<string, Record<string, unknown>>;
  const path = { summary: 'Tools', parameters: [{ name: 'shelf', in: 'query' }], get: {} };
  const info = { title: 'Tools', version: '1' };
  const bare = { openapi: '3.1.0', info, paths: { '/shelves/{id}': path, ...paths }, components };
  const text = await textOf(apiReference(JSON.stringify(bare)), 'docs');
  expect(text).toContain('<h3 id="get-shelves-id-"><a href="#get-shelves-id-">GET /shelves/{id}');
  expect(text).toContain('<tr id="get-shelves-id-.shelf">');
  expect(text).toContain('<tr id="schema-Tool.part">');
});
