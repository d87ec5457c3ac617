import type { DataSource } from 'typeorm';
import { pino } from 'pino';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { LastUses } from '../../src/auth/issued-tokens/last-uses.js';
import { connect } from '../../src/database/connect.js';
import { applyMigrations } from '../../src/database/migrations/migrate.js';
import { Statements } from '../../src/database/statements.js';
import { createDataSource } from '../support/tool-library.js';
import { createTestDatabase } from '../support/test-database.js';
import type { TestDatabase } from '../support/test-database.js';

const ID = 'abcdefghjkmn';
const USED = Date.parse('2026-11-25T10:00:00Z');

let database: TestDatabase;
let dataSource: DataSource;
let log: Record<string, unknown>[];
let uses: LastUses;

beforeEach(async () => {
  log = [];
  const logger = pino({}, { write: (line) => void log.push(JSON.parse(line) as never) });
  database = await createTestDatabase();
  dataSource = createDataSource(database.url);
  const waiting = { log: logger, signal: new AbortController().signal };
  await connect(dataSource, waiting);
  await applyMigrations(dataSource, waiting);
  log = [];
  uses = new LastUses(new Statements(dataSource), logger);
  await database.query(
    `INSERT INTO access_tokens (id, name, scopes, secret_hash) VALUES ($1, 'test', '{}', sha256('a'))`,
    [ID],
  );
});

afterEach(async () => {
  await dataSource.destroy();
  await database.drop();
});

async function stored(): Promise<unknown> {
  const [row] = await database.query('SELECT last_used_at FROM access_tokens');
  return row!['last_used_at'];
}

it('nothing is written without a use', async () => {
  await uses.onModuleDestroy();
  expect(await stored()).toBeNull();
});

it('a later use, which another replica has written, is kept', async () => {
  await database.query('UPDATE access_tokens SET last_used_at = $1', [new Date(USED + 1)]);
  uses.note(ID, USED);
  await uses.onModuleDestroy();
  expect(await stored()).toEqual(new Date(USED + 1));
});

it('uses that cannot be written are reported once, and written later', async () => {
  await database.query('ALTER TABLE access_tokens RENAME TO elsewhere');
  uses.note(ID, USED);
  await uses.onModuleDestroy();
  await uses.onModuleDestroy();
  expect(log).toMatchObject([
    { level: 40, msg: 'the last uses of issued tokens cannot be written' },
  ]);
  await database.query('ALTER TABLE elsewhere RENAME TO access_tokens');
  await uses.onModuleDestroy();
  expect(await stored()).toEqual(new Date(USED));
});

it('a use that comes while another one is written is written later', async () => {
  uses.note(ID, USED - 1_000);
  const writing = uses.onModuleDestroy();
  uses.note(ID, USED);
  await writing;
  await uses.onModuleDestroy();
  expect(await stored()).toEqual(new Date(USED));
});
