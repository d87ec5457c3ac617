import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from 'pg';
import { describe, expect, vi } from 'vitest';
import { it as base } from '../support/deployment.js';
import type { OwnPostgres } from '../support/own-postgres.js';
import { PATIENCE } from '../../packages/framework/test/support/patience.js';
import { isRefusedFor503 } from '../support/reckoning.js';
import { expectQuickRefusals, expectReckoning, expectRecovery } from '../support/verdicts.js';

/** Of the server, for superusers. */
const MAX_CONNECTIONS = 15;

const it = base.extend({ settings: { max_connections: String(MAX_CONNECTIONS) } });

/** Opens all remaining connections of the server. */
async function takeConnections(postgres: OwnPostgres, sessions: Client[]): Promise<void> {
  for (;;) {
    try {
      sessions.push(await postgres.connect());
    } catch {
      return;
    }
  }
}

describe('a database that cannot serve for a while', () => {
  it('because the table is locked: every request is answered, and served after the lock', async ({
    postgres,
    replica,
    crowd,
  }) => {
    const operator = await postgres.connect();
    await operator.query('BEGIN; LOCK TABLE plants');
    // Longer than the statement timeout.
    await sleep(6_000);
    await crowd.outcomes(isRefusedFor503, 16);
    await operator.end();
    await expectRecovery(crowd);
    await expectReckoning(crowd, postgres, replica);
  });

  it('because others use all of its connections', async ({ postgres, replica, crowd }) => {
    const operator = await postgres.connect();
    const sessions = [operator];
    // The service reconnects at once, and a terminated session may last a moment longer.
    await vi.waitFor(
      async () => {
        await operator.query(
          "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'plant-store'",
        );
        await takeConnections(postgres, sessions);
        // One connection belongs to the test.
        expect(sessions).toHaveLength(MAX_CONNECTIONS - 1);
      },
      { timeout: PATIENCE, interval: 10 },
    );
    await crowd.outcomes(isRefusedFor503, 16);
    await expectQuickRefusals(crowd);
    await Promise.all(sessions.map((session) => session.end()));
    await expectRecovery(crowd);
    await expectReckoning(crowd, postgres, replica);
  });

  it('because all of its processes are stopped', async ({ postgres, replica, crowd }) => {
    postgres.signal('SIGSTOP');
    await crowd.outcomes(isRefusedFor503, 16);
    await expectQuickRefusals(crowd);
    postgres.signal('SIGCONT');
    await expectRecovery(crowd);
    await expectReckoning(crowd, postgres, replica);
  });
});
