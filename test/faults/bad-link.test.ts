import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { Crowd } from '../support/crowd.js';
import { FaultyLink } from '../support/faulty-link.js';
import type { Toxic } from '../support/faulty-link.js';
import { OwnPostgres } from '../support/own-postgres.js';
import { Workspace } from '../support/process.js';
import { isRefusedFor503, isServed } from '../support/reckoning.js';
import { Replica } from '../support/replica.js';
import { expectQuickRefusals, expectReckoning, expectRecovery } from '../support/verdicts.js';

let workspace: Workspace;
let postgres: OwnPostgres;
let link: FaultyLink;
let replica: Replica;
let crowd: Crowd;

beforeAll(async () => {
  postgres = await OwnPostgres.start();
});

afterAll(() => postgres.stop());

beforeEach(async () => {
  workspace = await Workspace.create();
  link = await FaultyLink.to(postgres.url);
  replica = await Replica.start(workspace, { DATABASE_URL: link.url });
  crowd = new Crowd({ urls: [replica.url] });
  await crowd.served(300);
});

afterEach(async () => {
  await crowd.stop();
  await workspace.remove();
  await link.close();
  await postgres.clear();
});

describe('a link to the database', () => {
  it.each<Toxic>([
    { kind: 'latency', milliseconds: 100, jitter: 100 },
    { kind: 'bandwidth', bytesPerSecond: 20_000 },
    { kind: 'slicer', bytes: 7 },
  ])('with $kind causes no refusals', async (toxic) => {
    link.poison(toxic);
    await crowd.served(100);
    expect(link.harmed).toBeGreaterThan(0);
    link.cure();
    await expectRecovery(crowd);
    expect(crowd.attempts.filter((attempt) => !isServed(attempt))).toEqual([]);
    await expectReckoning(crowd, postgres, replica);
  });

  it.each<Toxic>([
    { kind: 'reset_peer' },
    { kind: 'down' },
    { kind: 'timeout', milliseconds: undefined },
  ])('that fails by $kind is answered with 503 soon', async (toxic) => {
    link.poison(toxic);
    await crowd.outcomes(isRefusedFor503, 1);
    await expectQuickRefusals(crowd);
    link.cure();
    await expectRecovery(crowd);
    await expectReckoning(crowd, postgres, replica);
  });

  it.each<Toxic>([
    { kind: 'timeout', milliseconds: 200 },
    { kind: 'limit_data', bytes: 5_000 },
  ])('that breaks by $kind loses no acknowledged plant', async (toxic) => {
    link.poison(toxic);
    await crowd.outcomes(isRefusedFor503, 20);
    link.cure();
    await expectRecovery(crowd);
    await expectReckoning(crowd, postgres, replica);
  });

  it('that closes slowly loses no acknowledged plant', async () => {
    link.poison({ kind: 'slow_close', milliseconds: 1_000 });
    for (let round = 1; round <= 3; round += 1) {
      await postgres.query(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'plant-store'",
      );
      await crowd.served(100);
    }
    expect(link.harmed).toBeGreaterThan(0);
    link.cure();
    await expectRecovery(crowd);
    await expectReckoning(crowd, postgres, replica);
  });
});
