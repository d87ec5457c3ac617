import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { lockOf } from '../../packages/framework/src/database/advisory-locks.js';
import { PATIENCE, PATIENT } from '../../packages/framework/test/support/patience.js';
import { createTestDatabase } from '../../packages/framework/test/support/test-database.js';
import type { TestDatabase } from '../../packages/framework/test/support/test-database.js';
import { call } from '../support/issued-tokens.js';
import { connect } from '../support/own-postgres.js';
import { Run } from '../support/plant-store-command.js';
import { dropRole, grantsOf, newRole, PASSWORD, urlAs } from '../support/roles.js';
import { startTestService } from '../support/test-service.js';
import type { TestService } from '../support/test-service.js';

/* Two plant stores on one database, with a schema and a role each. */

const STORES = ['first', 'second'].map((schema) => ({ schema, role: newRole() }));

let database: TestDatabase;
let services: readonly TestService[];

beforeAll(async () => {
  database = await createTestDatabase();
  await database.query('CREATE EXTENSION pgstattuple');
  // Both owners migrate at once.
  const owners = await Promise.all(
    STORES.map(({ schema, role }) => {
      const ofRole = { DATABASE_SERVICE_ROLE: role, DATABASE_SERVICE_PASSWORD: PASSWORD };
      return startTestService({ database, environment: { DATABASE_SCHEMA: schema, ...ofRole } });
    }),
  );
  await Promise.all(owners.map((owner) => owner.stop()));
  services = await Promise.all(
    STORES.map(({ schema, role }) =>
      startTestService({
        database: { ...database, url: urlAs(role, database) },
        environment: { DATABASE_SCHEMA: schema, DATABASE_MIGRATE_ON_START: 'false' },
        databaseLimits: PATIENT,
      }),
    ),
  );
});

afterAll(async () => {
  await Promise.all(services.map((service) => service.stop()));
  for (const { role } of STORES) await dropRole(role, database);
  await database.drop();
});

describe('two services with a schema and a role each', () => {
  it('keep their plants, changes and searches apart', async () => {
    for (const [n, { schema }] of STORES.entries()) {
      expect((await services[n]!.post({ id: 1, name: schema })).status).toBe(200);
    }
    for (const [n, { schema }] of STORES.entries()) {
      const service = services[n]!;
      expect((await service.request('GET', '/plants/1')).json).toEqual({ id: 1, name: schema });
      expect((await service.request('GET', '/changes')).json).toMatchObject([{ id: 1 }]);
      expect((await service.request('GET', '/plants?name=secon')).json).toHaveLength(n);
    }
  });

  it('accept only their own issued tokens', async () => {
    for (const [n, { schema, role }] of STORES.entries()) {
      const env = { DATABASE_URL: urlAs(role, database), DATABASE_SCHEMA: schema };
      const { stdout } = await new Run('', ['token', 'create', '--name', schema], { env }).result;
      await vi.waitFor(
        async () => expect(await call(`${services[n]!.url}/plants`, stdout.trim())).toBe('200'),
        PATIENCE,
      );
      expect(await call(`${services[1 - n]!.url}/plants`, stdout.trim())).toBe('401 40101');
    }
  });

  it('clean their indexes of searches without a wait for each other', async () => {
    const other = await connect(database.url);
    await other.query(
      `BEGIN; SET search_path = first;
       SELECT pg_advisory_xact_lock(${lockOf('plants_name_search_idx')})`,
    );
    await services[1]!.post({ id: 2, name: 'x'.repeat(80_000) });
    const pending =
      "SELECT pending_tuples::int FROM pgstatginindex('second.plants_name_search_idx')";
    await vi.waitFor(
      async () => expect(await database.query(pending)).toEqual([{ pending_tuples: 0 }]),
      PATIENCE,
    );
    await other.end();
  });

  it('have the privileges on their own schema', async () => {
    const granted = await database.query(
      `SELECT rolname AS role, nspname AS schema, privilege_type AS privilege
       FROM pg_namespace, aclexplode(nspacl) JOIN pg_roles ON pg_roles.oid = grantee
       WHERE rolname = ANY ($1) ORDER BY schema`,
      [STORES.map(({ role }) => role)],
    );
    expect(granted).toEqual(STORES.map((store) => ({ ...store, privilege: 'USAGE' })));
    const [first, second] = await Promise.all(STORES.map(({ role }) => grantsOf(role, database)));
    expect(first).toEqual(second);
  });

  it('leave nothing outside of their schemas', async () => {
    const outside = `SELECT relname FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace
      WHERE nspname NOT IN ('first', 'second', 'pg_catalog', 'pg_toast', 'information_schema')`;
    expect(await database.query(outside)).toEqual([]);
  });

  it('log no warning', () => {
    const warnings = services.flatMap(({ log }) => log.filter(({ level }) => Number(level) >= 40));
    expect(warnings).toEqual([]);
  });
});
