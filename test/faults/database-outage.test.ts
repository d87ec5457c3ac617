import { describe, expect, vi } from 'vitest';
import { it } from '../support/deployment.js';
import { PATIENCE } from '../../packages/framework/test/support/patience.js';
import { isRefusedFor503 } from '../support/reckoning.js';
import { expectQuickRefusals, expectRecovery, expectReckoning } from '../support/verdicts.js';

describe('a database that is lost under load', () => {
  it('recovers after kill -9 of the postmaster, three times', async ({
    postgres,
    replica,
    crowd,
  }) => {
    for (let round = 1; round <= 3; round += 1) {
      process.kill(postgres.pid, 'SIGKILL');
      await crowd.outcomes(isRefusedFor503, 1);
      await expectQuickRefusals(crowd);
      await postgres.startAgain();
      await expectRecovery(crowd);
    }
    await expectReckoning(crowd, postgres, replica);
  });

  it('recovers after kill -9 of a backend, after which PostgreSQL ends all backends', async ({
    postgres,
    replica,
    crowd,
  }) => {
    await postgres.killBackend();
    await crowd.outcomes(isRefusedFor503, 1);
    await postgres.accepting();
    await expectRecovery(crowd);
    await expectReckoning(crowd, postgres, replica);
  });

  it('recovers after all of its sessions were terminated, ten times', async ({
    postgres,
    replica,
    crowd,
  }) => {
    for (let round = 1; round <= 10; round += 1) {
      await postgres.endSessions();
      await crowd.served(100);
    }
    await expectRecovery(crowd);
    await expectReckoning(crowd, postgres, replica);
  });

  it('recovers after a restart', async ({ postgres, replica, crowd }) => {
    const { pid } = postgres;
    await postgres.restart();
    expect(postgres.pid).not.toBe(pid);
    await expectRecovery(crowd);
    await expectReckoning(crowd, postgres, replica);
  });

  it('serves reads, also of changes, after a restart while it is read-only, and then creates', async ({
    postgres,
    replica,
    crowd,
  }) => {
    await crowd.stop();
    const read = async (path: string) => {
      const response = await replica.send('GET', path);
      expect(response.status).toBe(200);
      return response.json();
    };
    const create = async () =>
      (await replica.send('POST', '/plants', { id: 1, name: 'Monstera' })).status;
    const before = await read('/changes');
    const { position } = (await read('/changes/latest')) as { position: number };
    await postgres.query('ALTER SYSTEM SET default_transaction_read_only = on');
    await postgres.restart();
    await vi.waitFor(async () => expect(await read('/changes')).toEqual(before), PATIENCE);
    await read('/plants');
    expect(await create()).toBe(503);

    await postgres.query('ALTER SYSTEM RESET default_transaction_read_only');
    await postgres.query('SELECT pg_reload_conf()');
    await vi.waitFor(async () => expect(await create()).toBe(200), PATIENCE);
    await vi.waitFor(
      async () => expect(await read(`/changes?after=${position}`)).toMatchObject([{ id: 1 }]),
      PATIENCE,
    );
  });
});
