import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { codeSamples } from '../src/website/code-samples.js';

const BODY = JSON.stringify({ name: `It's "50%" \\ $HOME \`id\` 🌵\n` });

const json = (text: string) => ({ type: 'application/json', text });

describe('the code samples', () => {
  it('quote a body for each language', async () => {
    const samples = codeSamples({ method: 'POST', path: '/plants', body: json(BODY) });
    const line = samples['curl']?.replace(/^curl /, `printf '%s\\n' `);
    const { stdout } = await promisify(execFile)('bash', ['-c', line ?? '']);
    expect(stdout.split('\n')).toContain(BODY);
    const [, literal] = /body: ('.*'),\n/.exec(samples['fetch'] ?? '') ?? [];
    // oxlint-disable-next-line no-eval
    expect((0, eval)(literal ?? '')).toBe(BODY);
    // A string literal of JavaScript is one of Python as well.
    expect(samples['Python']).toContain(`data=${literal}.encode(),`);
  });

  it('keep the lines of a body, also when a file takes its place', async () => {
    const lines = `${BODY}\n${BODY}\n`;
    const body = { type: 'application/x-ndjson', text: lines };
    const {
      curl = '',
      fetch = '',
      Python,
    } = codeSamples({ method: 'POST', path: '/plants', body });
    const print = curl.replace(/^curl /, `printf '%s\\n' `);
    const { stdout } = await promisify(execFile)('bash', ['-c', print]);
    expect(stdout).toContain(`Content-Type: application/x-ndjson\n--data-binary\n${lines}`);
    expect(fetch).toContain(`'Content-Type': 'application/x-ndjson',`);
    const [, literal] = /body: ('.*'),\n/.exec(fetch) ?? [];
    // oxlint-disable-next-line no-eval
    expect((0, eval)(literal ?? '')).toBe(lines);
    expect(Python).toContain(`data=${literal}.encode(),`);
  });

  it('name the method where it is not the usual one', () => {
    const samples = (method: string, body?: string) =>
      codeSamples({ method, path: '/plants/1', ...(body !== undefined && { body: json(body) }) });
    expect(samples('GET')['curl']).not.toContain('-X');
    expect(samples('POST', '{}')['curl']).not.toContain('-X');
    expect(samples('DELETE')['curl']).toContain('-X DELETE');
    expect(samples('PUT', '{}')).toMatchObject({
      curl: expect.stringContaining('-X PUT'),
      fetch: expect.stringContaining("method: 'PUT'"),
      Python: expect.stringContaining('requests.put('),
    });
  });
});
