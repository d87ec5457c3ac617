import { execFile } from 'node:child_process';
import { resolve } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { DIST } from '../support/application.js';
import { DebianPostgres, HAS_DEBIAN_POSTGRES } from '../support/debian-postgres.js';
import { connect } from '../support/own-postgres.js';
import { Workspace } from '../support/process.js';

const ROLE = 'plant_store_service';

let workspace: Workspace;
let servers: readonly [DebianPostgres, DebianPostgres];

beforeEach(async () => {
  workspace = await Workspace.create();
  servers = [await DebianPostgres.start(), await DebianPostgres.start()];
});

afterEach(async () => {
  await workspace.remove();
  for (const server of servers) await server.stop();
});

/** As the service `migrate` of docker-compose.yml does. */
async function migrate(server: DebianPostgres): Promise<void> {
  await promisify(execFile)(process.execPath, [resolve(DIST, 'cli', 'migration.js'), 'run'], {
    env: {
      DATABASE_URL: server.url,
      DATABASE_SERVICE_ROLE: ROLE,
      DATABASE_SERVICE_PASSWORD: 'plant-store-local',
    },
  });
}

describe.skipIf(!HAS_DEBIAN_POSTGRES)(
  'a dump, restored where there is no role of the service',
  () => {
    it('needs its privileges left out, which the migrations then grant', async () => {
      const [server, other] = servers;
      const file = workspace.path('plants.dump');
      await migrate(server);
      await server.query("INSERT INTO plants VALUES (1, 'Monstera')");
      await server.dump(file);
      await expect(other.restore(file)).rejects.toThrow(`role "${ROLE}" does not exist`);

      await other.restore(file, '--no-privileges');
      await migrate(other);
      const client = await connect(other.url.replace('postgres@', `${ROLE}@`));
      expect((await client.query('SELECT name FROM plants')).rows).toEqual([{ name: 'Monstera' }]);
      await client.query("INSERT INTO plants VALUES (2, 'Ficus')");
      await expect(client.query('ALTER TABLE plants ADD other int')).rejects.toThrow(
        'must be owner',
      );
      await client.end();
    });
  },
);
