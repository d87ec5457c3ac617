import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Crowd } from '../support/crowd.js';
import { OwnPostgres } from '../support/own-postgres.js';
import { Workspace } from '../support/process.js';
import { Replica } from '../support/replica.js';
import { expectQuickRefusals, expectRecovery, expectReckoning } from '../support/verdicts.js';
import { isRefusedFor503 } from '../support/reckoning.js';

/** Creates that are served before something happens. */
const SOME = 300;

let workspace: Workspace;
let postgres: OwnPostgres;
let replica: Replica;
let crowd: Crowd;

beforeEach(async () => {
  [workspace, postgres] = await Promise.all([Workspace.create(), OwnPostgres.start()]);
  replica = await Replica.start(workspace, { DATABASE_URL: postgres.url });
  crowd = new Crowd({ urls: [replica.url] });
  await crowd.served(SOME);
});

afterEach(async () => {
  await crowd.stop();
  await workspace.remove();
  await postgres.stop();
});

describe('a database that is lost under load', () => {
  it('recovers after kill -9 of the postmaster, three times', async () => {
    for (let round = 1; round <= 3; round += 1) {
      process.kill(postgres.pid, 'SIGKILL');
      await crowd.outcomes(isRefusedFor503, 1);
      await expectQuickRefusals(crowd);
      await postgres.startAgain();
      await expectRecovery(crowd);
    }
    await expectReckoning(crowd, postgres, replica);
  });

  it('recovers after kill -9 of a backend, after which PostgreSQL ends all backends', async () => {
    const [backend] = await postgres.backends();
    process.kill(backend!, 'SIGKILL');
    await crowd.outcomes(isRefusedFor503, 1);
    await postgres.accepting();
    await expectRecovery(crowd);
    await expectReckoning(crowd, postgres, replica);
  });

  it('recovers after all of its sessions were terminated, ten times', async () => {
    for (let round = 1; round <= 10; round += 1) {
      await postgres.query(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'plant-store'",
      );
      await crowd.served(SOME);
    }
    await expectRecovery(crowd);
    await expectReckoning(crowd, postgres, replica);
  });

  it('recovers after a restart', async () => {
    const { pid } = postgres;
    await postgres.restart();
    expect(postgres.pid).not.toBe(pid);
    await expectRecovery(crowd);
    await expectReckoning(crowd, postgres, replica);
  });
});
