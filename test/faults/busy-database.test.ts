import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { PATIENCE } from '../support/patience.js';
import { Crowd } from '../support/crowd.js';
import { OwnPostgres } from '../support/own-postgres.js';
import { Workspace } from '../support/process.js';
import { isRefusedFor503 } from '../support/reckoning.js';
import { Replica } from '../support/replica.js';
import { expectQuickRefusals, expectReckoning, expectRecovery } from '../support/verdicts.js';

/** Of the server, for superusers. */
const MAX_CONNECTIONS = 15;

let workspace: Workspace;
let postgres: OwnPostgres;
let replica: Replica;
let crowd: Crowd;
let sessions: Client[];

beforeAll(async () => {
  postgres = await OwnPostgres.start({ max_connections: String(MAX_CONNECTIONS) });
});

afterAll(() => postgres.stop());

beforeEach(async () => {
  sessions = [];
  workspace = await Workspace.create();
  replica = await Replica.start(workspace, { DATABASE_URL: postgres.url });
  crowd = new Crowd({ urls: [replica.url] });
  await crowd.served(300);
});

afterEach(async () => {
  postgres.signal('SIGCONT');
  await crowd.stop();
  await workspace.remove();
  await endSessions();
  await postgres.clear();
});

async function endSessions(): Promise<void> {
  await Promise.all(sessions.splice(0).map((session) => session.end()));
}

/** Opens all remaining connections of the server. */
async function takeConnections(): Promise<void> {
  for (;;) {
    try {
      sessions.push(await postgres.connect());
    } catch {
      return;
    }
  }
}

describe('a database that cannot serve for a while', () => {
  it('because the table is locked: every request is answered, and served after the lock', async () => {
    const operator = await postgres.connect();
    sessions.push(operator);
    await operator.query('BEGIN; LOCK TABLE plants');
    // Longer than the statement timeout.
    await sleep(6_000);
    await crowd.outcomes(isRefusedFor503, 16);
    await operator.query('ROLLBACK');
    await expectRecovery(crowd);
    await expectReckoning(crowd, postgres, replica);
  });

  it('because others use all of its connections', async () => {
    sessions.push(await postgres.connect());
    const [operator] = sessions;
    // The service reconnects at once, and a terminated session may last a moment longer.
    await vi.waitFor(
      async () => {
        await operator!.query(
          "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'plant-store'",
        );
        await takeConnections();
        // One connection belongs to the test.
        expect(sessions).toHaveLength(MAX_CONNECTIONS - 1);
      },
      { timeout: PATIENCE, interval: 10 },
    );
    await crowd.outcomes(isRefusedFor503, 16);
    await expectQuickRefusals(crowd);
    await endSessions();
    await expectRecovery(crowd);
    await expectReckoning(crowd, postgres, replica);
  });

  it('because all of its processes are stopped', async () => {
    postgres.signal('SIGSTOP');
    await crowd.outcomes(isRefusedFor503, 16);
    await expectQuickRefusals(crowd);
    postgres.signal('SIGCONT');
    await expectRecovery(crowd);
    await expectReckoning(crowd, postgres, replica);
  });
});
