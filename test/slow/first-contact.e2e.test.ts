import { once } from 'node:events';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { createServer as createHttpServer } from 'node:http';
import type { RequestListener } from 'node:http';
import { describe, expect, it, vi } from 'vitest';
import { lastingPort } from '../support/lasting-port.js';
import { CommandProcess, IMPATIENT, Run } from '../support/plant-store-command.js';
import { serve } from '../command/stand-ins.js';

/** After which the command gives up, and what its process takes on a machine with a free processor, in milliseconds. */
const [BOUND, PROCESS] = [5_000, 3_000];

/** How long the command may take in total, with its own process as the control. */
async function prompt(): Promise<number> {
  const start = performance.now();
  await new CommandProcess('', ['--version']).result;
  return BOUND + Math.max(PROCESS, 2 * (performance.now() - start));
}

describe('a first connection', () => {
  it('that is refused ends the command within seconds', async () => {
    const port = await lastingPort();
    const start = performance.now();
    const { code, stderr } = await new CommandProcess(`http://127.0.0.1:${port}`, ['export'])
      .result;
    expect(stderr).toMatch(
      new RegExp(
        `^plant-store: 127\\.0\\.0\\.1:${port} refuses connections \\(ECONNREFUSED\\); gave up after [\\d.]+ seconds: check the address, and whether the service runs$`,
        'm',
      ),
    );
    expect(code).toBe(3);
    expect(performance.now() - start).toBeLessThan(await prompt());
  });

  it('to an unknown host ends the command within seconds', async () => {
    const start = performance.now();
    const { code, stderr } = await new CommandProcess('https://nothing.invalid', ['export']).result;
    expect(stderr).toMatch(/^plant-store: .*nothing\.invalid.*; gave up after .*: check the /m);
    expect(code).toBe(3);
    expect(performance.now() - start).toBeLessThan(await prompt());
  });

  it('that is accepted, but never encrypted, ends the command', async () => {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const { code, stderr } = await new Run(`https://127.0.0.1:${port}`, ['export'], {
      limits: { ...IMPATIENT, firstContact: 300 },
    }).result;
    expect(stderr).toContain(
      `plant-store: no connection to 127.0.0.1:${port}: none within 0.3 seconds; gave up after 0.`,
    );
    expect(code).toBe(3);
    server.close();
  });

  it('may fail while the service starts', async () => {
    const port = await lastingPort();
    const command = new Run(`http://127.0.0.1:${port}`, ['export']);
    await serve((_request, response) => {
      response.writeHead(200, { 'Content-Type': 'application/x-ndjson' }).end('\n');
    }, port);
    expect(await command.result).toMatchObject({ code: 0 });
  });
});

it('a connection that is refused later does not end the command', async () => {
  const port = await lastingPort();
  const server = createHttpServer((request, response) => {
    const isFirst = request.url === '/plants/export';
    response.writeHead(200, { 'Content-Type': 'application/x-ndjson', Connection: 'close' });
    response.end(isFirst ? '{"id":1,"name":"a"}\n' : '\n');
    if (!isFirst) return;
    server.close(() => setTimeout(() => server.listen(port, '127.0.0.1'), 500));
  });
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  const { code, stderr } = await new Run(`http://127.0.0.1:${port}`, ['export'], {
    // Ended long before the server is back.
    limits: { ...IMPATIENT, firstContact: 250 },
  }).result;
  expect(stderr).toContain('trying again');
  expect(code).toBe(0);
  server.close();
});

it('a service that asks to wait for too long is not waited for, and it is said so', async () => {
  const answer = vi.fn<RequestListener>((_request, response) => {
    response.writeHead(503, { 'Retry-After': '180' }).end();
  });
  const { code, stderr } = await new CommandProcess(await serve(answer), ['export']).result;
  expect(stderr).toContain(
    'plant-store: the response was 503 Service Unavailable; gave up: the service asks to wait 180 seconds, longer than the 120 seconds that the command waits\n',
  );
  expect(stderr).not.toMatch(/repeated|trying again/);
  expect(answer).toHaveBeenCalledOnce();
  expect(code).toBe(3);
});
