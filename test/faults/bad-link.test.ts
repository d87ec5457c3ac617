import { describe, expect } from 'vitest';
import { it as base } from '../support/deployment.js';
import { FaultyLink } from '../support/faulty-link.js';
import type { Toxic } from '../support/faulty-link.js';
import { isRefusedFor503, isServed } from '../support/reckoning.js';
import { expectQuickRefusals, expectReckoning, expectRecovery } from '../support/verdicts.js';

const it = base.extend<{ readonly link: FaultyLink; readonly databaseUrl: string }>({
  link: async ({ postgres }, use) => {
    const link = await FaultyLink.to(postgres.url);
    await use(link);
    await link.close();
  },
  databaseUrl: ({ link }, use) => use(link.url),
});

describe('a link to the database', () => {
  it.for<Toxic>([
    { kind: 'latency', milliseconds: 100, jitter: 100 },
    { kind: 'bandwidth', bytesPerSecond: 20_000 },
    { kind: 'slicer', bytes: 7 },
  ])('with $kind causes no refusals', async (toxic, { postgres, link, replica, crowd }) => {
    link.poison(toxic);
    await crowd.served(100);
    expect(link.harmed).toBeGreaterThan(0);
    link.cure();
    await expectRecovery(crowd);
    expect(crowd.attempts.filter((attempt) => !isServed(attempt))).toEqual([]);
    await expectReckoning(crowd, postgres, replica);
  });

  it.for<Toxic>([
    { kind: 'reset_peer' },
    { kind: 'down' },
    { kind: 'timeout', milliseconds: undefined },
  ])(
    'that fails by $kind is answered with 503 soon',
    async (toxic, { postgres, link, replica, crowd }) => {
      link.poison(toxic);
      await crowd.outcomes(isRefusedFor503, 1);
      await expectQuickRefusals(crowd);
      link.cure();
      await expectRecovery(crowd);
      await expectReckoning(crowd, postgres, replica);
    },
  );

  it.for<Toxic>([
    { kind: 'timeout', milliseconds: 200 },
    { kind: 'limit_data', bytes: 5_000 },
  ])(
    'that breaks by $kind loses no acknowledged plant',
    async (toxic, { postgres, link, replica, crowd }) => {
      link.poison(toxic);
      await crowd.outcomes(isRefusedFor503, 20);
      link.cure();
      await expectRecovery(crowd);
      await expectReckoning(crowd, postgres, replica);
    },
  );

  it('that closes slowly loses no acknowledged plant', async ({
    postgres,
    link,
    replica,
    crowd,
  }) => {
    link.poison({ kind: 'slow_close', milliseconds: 1_000 });
    for (let round = 1; round <= 3; round += 1) {
      await postgres.endSessions();
      await crowd.served(100);
    }
    expect(link.harmed).toBeGreaterThan(0);
    link.cure();
    await expectRecovery(crowd);
    await expectReckoning(crowd, postgres, replica);
  });
});
