import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { connect } from '../support/own-postgres.js';
import { PATIENCE } from '../../packages/framework/test/support/patience.js';
import { dropRole, migrate, newRole, PASSWORD, privilegesOf, urlAs } from '../support/roles.js';
import { SCHEMA } from '../support/data-source.js';
import { createMigratedDatabase } from '../support/migrated-database.js';
import type { TestDatabase } from '../../packages/framework/test/support/test-database.js';
import { startTestService } from '../support/test-service.js';
import type { TestService } from '../support/test-service.js';

describe('the service, as a role that owns nothing', () => {
  const name = newRole();
  const enough = 'x'.repeat(80_000);
  let database: TestDatabase;
  let service: TestService;

  beforeAll(async () => {
    database = await createMigratedDatabase();
    await database.query('CREATE EXTENSION IF NOT EXISTS pgstattuple');
    await migrate(database, { role: { name, password: PASSWORD }, schema: SCHEMA });
    service = await startTestService({
      database: { ...database, url: urlAs(name, database) },
      environment: { DATABASE_MIGRATE_ON_START: 'false' },
    });
  });

  afterAll(async () => {
    await service?.stop();
    await dropRole(name, database);
    await database.drop();
  });

  async function asRole(statement: string) {
    const session = await connect(urlAs(name, database));
    try {
      return await session.query(statement);
    } finally {
      await session.end();
    }
  }

  it('creates, shows, lists, searches, replaces, changes and removes plants', async () => {
    const plant = { id: 1, name: 'Monstera', tag: 'indoor' };
    expect((await service.post(plant)).status).toBe(200);
    expect((await service.request('GET', '/plants/1')).json).toEqual(plant);
    expect((await service.request('GET', '/plants?tag=indoor')).json).toMatchObject([{ id: 1 }]);
    expect((await service.request('GET', '/plants?name=onst')).json).toMatchObject([{ id: 1 }]);
    for (const [method, type, body] of [
      ['PUT', 'application/json', '{"name":"Aloe"}'],
      ['PATCH', 'application/merge-patch+json', '{"tag":"dry"}'],
    ] as const) {
      const headers = { 'Content-Type': type };
      expect((await service.request(method, '/plants/1', { body, headers })).status).toBe(200);
    }
    expect((await service.request('DELETE', '/plants/1')).status).toBe(204);
    expect((await service.request('GET', '/plants/1')).status).toBe(404);
  });

  it('imports and exports', async () => {
    const answer = await service.request('POST', '/plants/import', {
      headers: { 'Content-Type': 'application/x-ndjson' },
      body: '{"id":2,"name":"Ficus"}\n{"id":3,"name":"Palm"}\n',
    });
    expect(answer.status).toBe(200);
    const { text } = await service.request('GET', '/plants/export');
    expect(text).toContain('{"id":2,"name":"Ficus"}\n{"id":3,"name":"Palm"}\n');
    for (const id of [2, 3]) await service.request('DELETE', `/plants/${id}`);
  });

  it('cleans the index of searches by name', async () => {
    expect((await service.post({ id: 4, name: enough })).status).toBe(200);
    await vi.waitFor(async () => {
      const [row] = await database.query(
        "SELECT pending_tuples::int AS plants FROM pgstatginindex('plants_name_search_idx')",
      );
      expect(row).toEqual({ plants: 0 });
    }, PATIENCE);
  });

  it('logs no warning', () => {
    expect(service.log.filter(({ level }) => Number(level) >= 40)).toEqual([]);
  });

  it('learns the timeline of the server, by which a replaced primary is told', async () => {
    const { rows } = await asRole(
      'SELECT system_identifier, pg_walfile_name(pg_current_wal_insert_lsn()) FROM pg_control_system()',
    );
    expect(rows).toHaveLength(1);
  });

  it.each([
    'CREATE TABLE other (id int)',
    'CREATE SCHEMA other',
    'CREATE EXTENSION hstore',
    'ALTER TABLE plants ADD other int',
    'ALTER TABLE plants DISABLE TRIGGER ALL',
    'ALTER TABLE plants OWNER TO CURRENT_USER',
    'DROP TABLE plants',
    'TRUNCATE plants',
    'CREATE INDEX other ON plants (name)',
    'DROP INDEX plants_name_search_idx',
    'REINDEX INDEX plants_name_search_idx',
    'CREATE TRIGGER other BEFORE INSERT ON plants EXECUTE FUNCTION suppress_redundant_updates_trigger()',
    "SELECT gin_clean_pending_list('plants_name_search_idx')",
    'GRANT pg_read_all_data TO CURRENT_USER',
    'CREATE FUNCTION other() RETURNS int LANGUAGE sql AS $$ SELECT 1 $$',
    'CREATE OR REPLACE FUNCTION clean_plants_name_search_idx() RETURNS bigint LANGUAGE sql AS $$ SELECT 1::bigint $$',
    'CREATE ROLE other',
    'SELECT rolpassword FROM pg_authid',
    "SELECT pg_read_file('/etc/passwd')",
    "COPY plants TO PROGRAM 'cat'",
    "INSERT INTO plant_store_migrations (timestamp, name) VALUES (1, 'other')",
    "UPDATE plant_store_migrations SET name = 'other'",
    'DELETE FROM plant_store_migrations',
  ])('may not %s', async (statement) => {
    // insufficient_privilege
    await expect(asRole(statement)).rejects.toMatchObject({ code: '42501' });
  });

  // PostgreSQL only warns, because the role has some privilege.
  it('may not grant itself more', async () => {
    const before = await privilegesOf(name, database);
    await asRole('GRANT ALL ON plants, plant_store_migrations TO CURRENT_USER');
    expect(await privilegesOf(name, database)).toEqual(before);
  });

  it('may not become the owner, and others may not call its function', async () => {
    const [owner] = await database.query('SELECT quote_ident(current_user) AS name');
    await expect(asRole(`SET ROLE ${String(owner?.['name'])}`)).rejects.toThrow(
      'permission denied to set role',
    );
    const [function_] = await database.query(
      `SELECT prosecdef AS definer, proconfig AS settings,
         (SELECT count(*)::int FROM aclexplode(proacl) WHERE grantee = 0) AS public
       FROM pg_proc WHERE oid = to_regprocedure('clean_plants_name_search_idx()')`,
    );
    expect(function_).toEqual({
      definer: true,
      settings: ['search_path=pg_catalog, pg_temp'],
      public: 0,
    });
  });

  it('cleans as the owner does, if the function is missing, or leaves it to creates', async () => {
    await database.query('DROP FUNCTION clean_plants_name_search_idx()');
    const other = await startTestService({
      database: { ...database, url: urlAs(name, database) },
      environment: { DATABASE_MIGRATE_ON_START: 'false' },
    });
    expect((await other.post({ id: 5, name: enough })).status).toBe(200);
    await vi.waitFor(() => {
      expect(other.log).toContainEqual(
        expect.objectContaining({
          level: 30,
          mayClean: false,
          msg: 'the index of searches by name is cleaned by creates',
        }),
      );
    }, PATIENCE);
    await other.stop();
  });
});
