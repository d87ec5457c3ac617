import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { addressIn } from '../../src/observability/client-address.js';
import { createMigratedDatabase } from '../support/test-database.js';
import type { TestDatabase } from '../support/test-database.js';
import { startTestService } from '../support/test-service.js';

describe('an entry of X-Forwarded-For', () => {
  it.each([
    ['192.0.2.7', '192.0.2.7'],
    ['192.0.2.7:40007', '192.0.2.7'],
    ['192.0.2.7:_port', '192.0.2.7'],
    ['"192.0.2.7:40007"', '192.0.2.7'],
    [' 192.0.2.7 ', '192.0.2.7'],
    ['[192.0.2.7]', 'unknown'],
    ['192.0.2.7:', 'unknown'],
    ['192.0.2.7:123456', 'unknown'],
    ['192.0.2.300', 'unknown'],
    ['2001:db8::7', '2001:db8::7'],
    ['[2001:db8::7]', '2001:db8::7'],
    ['[2001:db8::7]:4000', '2001:db8::7'],
    ['"[2001:db8::7]:4000"', '2001:db8::7'],
    ['[2001:DB8:0:0::7]:4000', '2001:db8::7'],
    ['[2001:db8::7', 'unknown'],
    ['[2001:db8::7]4000', 'unknown'],
    ['fe80::1%eth0', 'fe80::1'],
    ['::1', '::1'],
    ['::ffff:192.0.2.7', '192.0.2.7'],
    ['::FFFF:c000:207', '192.0.2.7'],
    ['0:0:0:0:0:ffff:192.0.2.7', '192.0.2.7'],
    ['[::ffff:192.0.2.7]:40007', '192.0.2.7'],
    ['64:ff9b::192.0.2.7', '64:ff9b::c000:207'],
    ['_hidden', '_hidden'],
    ['_SEVKISEK', '_SEVKISEK'],
    ['"_gazonk:4711"', '_gazonk'],
    ['_', 'unknown'],
    [`_${'x'.repeat(65)}`, 'unknown'],
    ['unknown', 'unknown'],
    ['unknown:8080', 'unknown'],
    ['plants.example.com', 'unknown'],
    ['<script>', 'unknown'],
    ['for=192.0.2.7', 'unknown'],
    ['', 'unknown'],
    ['long '.repeat(3_000), 'unknown'],
    [undefined, 'unknown'],
  ])('%.40s names %s', (entry, address) => {
    expect(addressIn(entry)).toBe(address);
  });
});

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
