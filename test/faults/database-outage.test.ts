import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { Crowd, TOKEN } from '../support/crowd.js';
import { OwnPostgres } from '../support/own-postgres.js';
import { PATIENCE } from '../support/patience.js';
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

  it('serves reads, also of changes, after a restart while it is read-only, and then creates', async () => {
    await crowd.stop();
    const read = async (url: string) => {
      const response = await fetch(url, { headers: { Authorization: `Bearer ${TOKEN}` } });
      expect(response.status).toBe(200);
      return response.json();
    };
    const create = async () => {
      const body = JSON.stringify({ id: 1, name: 'Monstera' });
      const headers = { Authorization: `Bearer ${TOKEN}`, 'Content-Type': 'application/json' };
      return (await fetch(replica.url, { method: 'POST', headers, body })).status;
    };
    const changes = replica.url.replace(/plants$/, 'changes');
    const before = await read(changes);
    const { position } = (await read(`${changes}/latest`)) as { position: number };
    await postgres.query('ALTER SYSTEM SET default_transaction_read_only = on');
    await postgres.restart();
    await vi.waitFor(async () => expect(await read(changes)).toEqual(before), PATIENCE);
    await read(replica.url);
    expect(await create()).toBe(503);

    await postgres.query('ALTER SYSTEM RESET default_transaction_read_only');
    await postgres.query('SELECT pg_reload_conf()');
    await vi.waitFor(async () => expect(await create()).toBe(200), PATIENCE);
    await vi.waitFor(
      async () => expect(await read(`${changes}?after=${position}`)).toMatchObject([{ id: 1 }]),
      PATIENCE,
    );
  });
});
