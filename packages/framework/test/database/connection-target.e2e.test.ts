import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { DATABASE_LIMITS } from '../../src/database/limits.js';
import { ConnectionTarget } from '../../src/database/connections/connection-target.js';
import type { PoolClientConfig } from '../../src/database/connections/pool-client.js';
import { PATIENCE } from '../support/patience.js';
import { createTestDatabase } from '../support/test-database.js';
import type { TestDatabase } from '../support/test-database.js';

/* The URL of new connections, while a file and PostgreSQL get a new password one after the other. */

const ROLE = 'rotated_role';

let database: TestDatabase;
let source: { value: string; refresh: () => void };
let config: PoolClientConfig;
let target: ConnectionTarget;
let log: readonly string[];

const urlWith = (password: string) =>
  Object.assign(new URL(database.url), { username: ROLE, password }).href;

const setPassword = (password: string) =>
  database.query(`ALTER ROLE ${ROLE} PASSWORD '${password}'`);

const inUse = () => new URL(config.connectionString!).password;

beforeEach(async () => {
  database = await createTestDatabase();
  await database.query(`CREATE ROLE ${ROLE} LOGIN PASSWORD 'first'`);
  source = { value: urlWith('first'), refresh: () => {} };
  config = { limits: { ...DATABASE_LIMITS, reply: 10_000 }, connectionTimeoutMillis: 10_000 };
  const lines: string[] = [];
  log = lines;
  const write = (line: string) => void lines.push((JSON.parse(line) as { msg: string }).msg);
  target = new ConnectionTarget(source, config, pino({}, { write }));
});

afterEach(async () => {
  target.close();
  await database.query(`DROP ROLE ${ROLE}`);
  await database.drop();
});

describe('after a refused login', () => {
  it('the new URL is used if PostgreSQL has its password', async () => {
    source.value = urlWith('second');
    await setPassword('second');
    expect(await target.recover()).toBe(true);
    expect(inUse()).toBe('second');
    expect(log).toEqual(['new connections use the new DATABASE_URL']);
  });

  it('the former URL is used if PostgreSQL got its password back', async () => {
    source.value = urlWith('second');
    await setPassword('second');
    await target.recover();
    await setPassword('first');
    expect(await target.recover()).toBe(true);
    expect(inUse()).toBe('first');
    expect(log.at(-1)).toBe('new connections use the former DATABASE_URL');
  });

  it('nothing changes if no URL has the password, which is logged once', async () => {
    source.value = urlWith('second');
    await setPassword('third');
    const attempts = [target.recover(), target.recover()];
    expect(attempts[0]).toBe(attempts[1]);
    expect(await Promise.all(attempts)).toEqual([false, false]);
    expect(await target.recover()).toBe(false);
    expect(inUse()).toBe('first');
    expect(log).toEqual(['the new DATABASE_URL does not work: the former stays in use']);
  });

  it('the same URL is used if PostgreSQL accepts it again', async () => {
    expect(await target.recover()).toBe(true);
    expect(inUse()).toBe('first');
    expect(log).toEqual([]);
  });
});

it('a new URL is taken up as soon as PostgreSQL accepts it, although nothing was refused', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  try {
    target.follow();
    source.value = urlWith('second');
    await setPassword('second');
    vi.advanceTimersByTime(60_000);
  } finally {
    vi.useRealTimers();
  }
  await vi.waitFor(() => expect(inUse()).toBe('second'), PATIENCE);
});
