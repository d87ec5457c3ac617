import { mkdir } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from 'pg';
import { expect, vi } from 'vitest';
import { Crowd, GENTLE, TOKEN } from '../support/crowd.js';
import { it } from '../support/deployment.js';
import { create, databaseUrlOf } from '../support/local-instance.js';
import { connect, plantsIn } from '../support/own-postgres.js';
import { PATIENCE } from '../../packages/framework/test/support/patience.js';
import { isRefusedFor503, tally } from '../support/reckoning.js';
import { expectReckoning, expectRecovery } from '../support/verdicts.js';

/** Mounts a small disk that only the following command sees. */
const MOUNT = 'mount -t tmpfs -o size=12m tmpfs "$0" && exec "$@"';

/** Fills the rest of the disk with rows of another table. */
async function fill(session: Client): Promise<void> {
  await session.query('CREATE TABLE ballast (filler text) TABLESPACE small');
  const insert = `INSERT INTO ballast SELECT repeat('x', 1900) FROM generate_series(1, $1)`;
  for (const rows of [400, 40, 4, 1]) {
    for (;;) {
      try {
        await session.query(insert, [rows]);
      } catch (error) {
        expect(error).toMatchObject({ code: '53100' });
        break;
      }
    }
  }
}

it('refuses plants while the disk is full, and accepts them again when there is space', async ({
  workspace,
}) => {
  const disk = workspace.path('disk');
  await mkdir(disk);
  // In a separate namespace, where an ordinary user may mount, too.
  const namespace = ['unshare', '--user', '--map-root-user', '--mount', '--', 'sh', '-c', MOUNT];
  const service = workspace.start({ AUTH_TOKEN: TOKEN }, { through: [...namespace, disk] });
  const { url } = await service.listening();
  const database = databaseUrlOf(workspace);
  const operator = await connect(database);
  await operator.query(`CREATE TABLESPACE small LOCATION '${disk}'`);
  await operator.query('ALTER TABLE plants SET TABLESPACE small');
  await operator.query('ALTER INDEX plants_pkey SET TABLESPACE small');

  const crowd = new Crowd({ urls: [`${url}/plants`], pause: GENTLE });
  await crowd.served(300);
  await fill(operator);
  await crowd.outcomes(isRefusedFor503, 100);
  // Some rows still fit into existing pages.
  await sleep(2_000);
  await operator.query('DROP TABLE ballast');
  await expectRecovery(crowd);
  await expectReckoning(crowd, { plants: () => plantsIn(database) }, { service });
  expect(Object.keys(tally(crowd.attempts))).not.toContain('lost');

  await vi.waitFor(
    async () => {
      expect(await create(url, TOKEN, '{"id":1,"name":"after"}')).toBe(200);
      expect(service.log.map(({ msg }) => msg)).toContain('the database accepts INSERT again');
    },
    { timeout: PATIENCE, interval: 500 },
  );
  // Logged once at the beginning and once at the end, not for each create.
  const told = service.log.filter(({ level }) => Number(level) > 30);
  expect(told).toEqual([
    expect.objectContaining({
      msg: 'the database rejects INSERT',
      reason: expect.stringContaining('No space left on device'),
    }),
  ]);
  await operator.end();
});
