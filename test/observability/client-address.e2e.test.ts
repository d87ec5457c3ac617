import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { TestDatabase } from '../../packages/framework/test/support/test-database.js';
import { createMigratedDatabase } from '../support/migrated-database.js';
import { startTestService } from '../support/test-service.js';

describe('the address in the log', () => {
  let database: TestDatabase;

  beforeAll(async () => {
    database = await createMigratedDatabase();
  });

  afterAll(() => database.drop());

  /** Fields that say nothing to the service. */
  const FORGED = {
    ...Object.fromEntries(
      ['X-Real-IP', 'True-Client-IP', 'CF-Connecting-IP', 'X-Client-IP', 'Client-IP'].map(
        (name) => [name, '198.51.100.1'],
      ),
    ),
    Forwarded: 'for=198.51.100.1;by=198.51.100.1',
  };

  /** Expects these addresses in the log, each for a request with the field in front of it. */
  async function expectLogged(
    environment: Record<string, string>,
    clients: Readonly<Record<string, string>>,
  ): Promise<void> {
    const service = await startTestService({ database, environment });
    for (const field of Object.keys(clients)) {
      const headers = { ...FORGED, 'X-Forwarded-For': field };
      expect((await service.request('GET', '/plants?limit=1', { headers })).status).toBe(200);
    }
    await service.stop();
    const lines = service.log.filter(({ msg }) => msg === 'request');
    expect(lines.map(({ client }) => client)).toEqual(Object.values(clients));
  }

  it('is that of the connection without TRUST_PROXY', async () => {
    await expectLogged({}, { '192.0.2.1': '127.0.0.1', '192.0.2.1:40007': '127.0.0.1' });
  });

  it('is what the trusted proxy has added', async () => {
    await expectLogged(
      { TRUST_PROXY: '1' },
      {
        '198.51.100.1, 192.0.2.1': '192.0.2.1',
        '198.51.100.1:1, 203.0.113.7:40007': '203.0.113.7',
        '198.51.100.1, [2001:db8::7]:4000': '2001:db8::7',
        '198.51.100.1, unknown': 'unknown',
        _hidden: '_hidden',
      },
    );
  });

  it('is that of a client that is no trusted proxy', async () => {
    await expectLogged({ TRUST_PROXY: '10.0.0.0/8' }, { '192.0.2.1': '127.0.0.1' });
  });

  it('is found behind trusted proxies that are named with their ports', async () => {
    await expectLogged(
      { TRUST_PROXY: 'loopback, 10.0.0.0/8, 2001:db8:1::/48' },
      {
        '198.51.100.1, 203.0.113.7:40007, 10.0.0.5:1234': '203.0.113.7',
        '198.51.100.1, [2001:db8::7]:4000, "[2001:db8:1::5]:1234", ::ffff:10.0.0.5': '2001:db8::7',
        '198.51.100.1, unknown, 10.0.0.5': 'unknown',
        '10.0.0.6:1, 10.0.0.5:2': '10.0.0.6',
      },
    );
  });
});
