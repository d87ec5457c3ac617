import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createTestingService } from '@resource-service/framework/testing';
import { afterAll, expect, it } from 'vitest';
import { AppModule } from '../src/app.module.js';

/** The bodies of the notices. */
const notices: string[] = [];

async function receive(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const chunks = await request.toArray();
  if (request.method === 'POST') notices.push(chunks.join(''));
  response.end();
}

const receiver = createServer((request, response) => void receive(request, response));
await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve));
const { port } = receiver.address() as AddressInfo;
const service = await createTestingService(AppModule, {
  NOTICES_URL: `http://127.0.0.1:${port}/notices`,
  LOG_LEVEL: 'silent',
});

afterAll(() => service.stop());

/** Lends a tool and takes it back. */
async function lendOnce() {
  const { body: tool } = await service.send('POST', '/tools', { name: 'Hammer' });
  const { id: toolId } = tool as { id: number };
  const { headers, body: loan } = await service.send('POST', '/loans', { toolId, borrower: 'Ada' });
  expect((await service.send('DELETE', headers.get('Location')!)).status).toBe(204);
  return { toolId, id: (loan as { id: string }).id };
}

const ask = async (path: string) => (await fetch(service.managementUrl + path)).text();

it('sends notices of a loan in their order, and takes the tool back without its receiver, too', async () => {
  const { toolId, id } = await lendOnce();
  await expect.poll(() => notices).toContain(`tool ${toolId} is back`);
  await expect
    .poll(() => notices.filter((notice) => notice.startsWith('loan')))
    .toEqual([`loan ${id} created`, `loan ${id} removed`]);
  expect(await ask('/health/ready')).toBe(
    '{"status":"ok","checks":{"notices":{"status":"ok"},"change-consumers":{"status":"ok"}}}',
  );
  receiver.close();
  receiver.closeAllConnections();
  await lendOnce();
  await expect.poll(() => ask('/metrics')).toContain('notices_total{outcome="lost"} 1\n');
  expect(await ask('/metrics')).toContain('notices_total{outcome="sent"} 1\n');
});
