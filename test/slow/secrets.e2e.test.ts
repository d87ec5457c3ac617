import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { DIST } from '../support/application.js';
import { Collector } from '../support/collector.js';
import { idOf } from '../../packages/framework/test/support/tokens.js';
import { tokenProcess } from '../support/issued-tokens.js';
import { PATIENCE } from '../../packages/framework/test/support/patience.js';
import { CommandProcess } from '../support/plant-store-command.js';
import { Workspace } from '../support/process.js';
import type { Environment, Exit, Listening } from '../support/process.js';
import { RawSocket } from '../../packages/framework/test/support/raw-socket.js';
import { SecretSearch } from '../support/secret-search.js';
import { createTestDatabase } from '../../packages/framework/test/support/test-database.js';
import type { TestDatabase } from '../../packages/framework/test/support/test-database.js';
import { AUDIENCE } from '../../packages/framework/test/support/test-issuer.js';
import type { TestIssuer } from '../../packages/framework/test/support/test-issuer.js';
import { startTestIssuer } from '../support/start-test-issuer.js';

const JSON_TYPE = { 'Content-Type': 'application/json' };
const NDJSON_TYPE = { 'Content-Type': 'application/x-ndjson' };
const PLANT = '{"id":3,"name":"Ficus"}';

/** Every column of every row of every table. */
const ROWS = `SELECT relname AS table,
    query_to_xml(format('SELECT t::text AS row FROM %s t', oid::regclass), true, true, '')::text AS rows
  FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace`;

const unique = randomBytes(6).toString('hex');
const owner = `owner_${unique}`;
const role = `service_${unique}`;

const search = new SecretSearch();
/** Statuses of answers, by the credentials or the circumstances. */
const statuses = new Map<string, number[]>();

let workspace: Workspace;
let database: TestDatabase;
let collector: Collector;
let issuer: TestIssuer;
let address: Listening;
let exit: Exit;

function as(name: string, password: string): string {
  const login = { username: name, password: encodeURIComponent(password) };
  return Object.assign(new URL(database.url), login).href;
}

async function file(name: string, content: string): Promise<string> {
  await writeFile(workspace.path(name), `${content}\n`, { mode: 0o600 });
  return workspace.path(name);
}

function bearer(token: string): Record<string, string> {
  return { Authorization: `Bearer ${token}` };
}

/** With another character in its secret part. */
function broken(token: string): string {
  const at = token.length - 10;
  return token.slice(0, at) + (token[at] === 'x' ? 'y' : 'x') + token.slice(at + 1);
}

/** Keeps the answer, and its status under a name. */
async function call(name: string, path: string, init: RequestInit = {}): Promise<void> {
  const response = await fetch(`${address.url}${path}`, { redirect: 'manual', ...init });
  search.keep('answers', JSON.stringify([...response.headers]), await response.text());
  statuses.set(name, [...(statuses.get(name) ?? []), response.status]);
}

/** Sends a plant, or what is none. */
function post(name: string, token: string, body = PLANT, headers = JSON_TYPE): Promise<void> {
  return call(name, '/plants', { method: 'POST', headers: { ...bearer(token), ...headers }, body });
}

async function migrate(environment: Readonly<Record<string, string>>): Promise<void> {
  const env = { PATH: process.env['PATH'], LOG_LEVEL: 'trace', ...environment };
  const command = [`${DIST}/cli/migration.js`, 'run'];
  const { stdout, stderr } = await promisify(execFile)(process.execPath, command, { env });
  search.keep('the migrations', stdout, stderr);
}

/** The token that a command prints. */
async function issue(name: string, url: string, ...args: readonly string[]): Promise<string> {
  const { stdout, stderr } = await tokenProcess(url, ...args);
  search.keep('plant-store token', stderr);
  return search.token(name, stdout.trim());
}

/** A start that must fail. */
async function startInVain(environment: Environment): Promise<void> {
  const attempt = workspace.start({ LOG_LEVEL: 'trace', ...environment });
  expect((await attempt.exit()).code).toBe(1);
  search.keep('failed starts', attempt.stdout, attempt.stderr);
}

async function succeed(name: string, token: string, id: number): Promise<void> {
  const plant = JSON.stringify({ id, name: 'Monstera', tag: 'indoor' });
  const headers = bearer(token);
  const json = { ...headers, ...JSON_TYPE };
  await post(name, token, plant);
  await call(name, `/plants/${id}`, { headers });
  await call(name, '/plants?limit=5&name=mon', { headers });
  await call(name, `/plants/${id}`, { method: 'PUT', headers: json, body: '{"name":"Ficus"}' });
  const lines = { headers: { ...headers, ...NDJSON_TYPE }, body: `${plant}\n{"id":"${token}"}\n` };
  await call(name, '/plants/import', { method: 'POST', ...lines });
  await call(name, '/plants/export', { headers });
}

/** What a client can get wrong although its credentials are valid. */
async function misuse(token: string): Promise<void> {
  await post('misuse', token, '{"id":');
  await post('misuse', token, JSON.stringify({ id: token, name: 1, tag: [token] }));
  await post('misuse', token, JSON.stringify({ [token]: 1, id: 1.5, access_token: token }));
  await post('misuse', token, token, { 'Content-Type': 'text/plain' });
  const headers = { ...bearer(token), 'If-Match': token };
  for (const path of [`/plants/${token}`, `/${token}`, `/docs/${token}`, `/plants?limit=${token}`])
    await call('misuse', path, { headers });
  await call('misuse', '/plants/1', { method: 'DELETE', headers });
  await call('misuse', '/plants', { method: 'PROPFIND', headers });
}

/** The ways to send credentials that do not count. */
async function fail(token: string): Promise<void> {
  const attempts: readonly Record<string, string>[] = [
    bearer(broken(token)),
    bearer(token.slice(0, -3)),
    bearer(`${token} ${token}`),
    { Authorization: token },
    { Authorization: `Basic ${btoa(`user:${token}`)}` },
    { Cookie: `token=${token}`, 'X-Api-Key': token },
  ];
  for (const headers of attempts) await call('refused', '/plants/1', { headers });
  await call('refused', `/plants?access_token=${token}`);
  await post('refused', broken(token), `{"access_token":"${token}"}`);
  const field = `Authorization: Bearer ${token}`;
  for (const [line, ...fields] of [
    ['GET /plants/1 HTTP/1.1', field, field],
    // Not parsed: a field, a version, too much.
    ['GET /plants/1 HTTP/1.1', field, `${token} (`],
    [`GET /plants/${token} HTTP/9.9`, field],
    ['GET /plants/1 HTTP/1.1', `${field}${token.repeat(1_000)}`],
  ]) {
    const socket = await RawSocket.open(address.port);
    socket.send([line, 'Host: a', 'Connection: close', ...fields, '', ''].join('\r\n'));
    const { status, headers, body } = await socket.answer();
    search.keep('answers', JSON.stringify(headers), body);
    statuses.set('malformed', [...(statuses.get('malformed') ?? []), status]);
    socket.destroy();
  }
  const { stdout, stderr } = await new CommandProcess(`${address.url}/${token}`, ['export'], {
    env: { PLANT_STORE_TOKEN: broken(token) },
  }).result;
  search.keep('plant-store export', stdout, stderr);
}

/** Requests while the database lets the service in no more, until it does again. */
async function outage(change: string, undo: string, token: string): Promise<void> {
  const headers = bearer(token);
  await database.query(`ALTER ROLE ${role} ${change}`);
  await database.query(
    'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = $1',
    [role],
  );
  for (const path of ['/plants/1', '/plants']) await call('outage', path, { headers });
  await post('outage', token);
  // Waits for the end of the outage.
  const exported = call('after the outage', '/plants/export', { headers });
  await database.query(`ALTER ROLE ${role} ${undo}`);
  await exported;
}

async function createRoles(passwordOfOwner: string, passwordOfService: string): Promise<void> {
  await database.query(`CREATE ROLE ${owner} LOGIN CREATEROLE PASSWORD '${passwordOfOwner}'`);
  await database.query(
    `ALTER DATABASE ${new URL(database.url).pathname.slice(1)} OWNER TO ${owner}`,
  );
  await migrate({
    DATABASE_URL: as(owner, passwordOfOwner),
    DATABASE_SERVICE_ROLE: role,
    DATABASE_SERVICE_PASSWORD_FILE: await file('role', passwordOfService),
  });
}

async function issueTokens(url: string): Promise<{ valid: [string, string][]; revoked: string }> {
  const first = await issue('issued token', url, 'create', '--name', 'a');
  const id = idOf(first);
  const second = await issue('rotated token', url, 'rotate', id, '--grace', '1h');
  const revoked = await issue('revoked token', url, 'create', '--name', 'b');
  // The last is a mistake: the command takes the id.
  const others = [['list'], ['list', '--json'], ['revoke', idOf(revoked)], ['revoke', first]];
  for (const { stdout, stderr } of await Promise.all(
    others.map((command) => tokenProcess(url, ...command)),
  )) {
    search.keep('plant-store token', stdout, stderr);
  }
  return {
    valid: [
      ['issued token', first],
      ['rotated token', second],
    ],
    revoked,
  };
}

beforeAll(async () => {
  [database, workspace, collector, issuer] = await Promise.all([
    createTestDatabase(),
    Workspace.create(),
    Collector.start(),
    startTestIssuer(),
  ]);
  const passwordOfOwner = search.secret('password of the owner');
  // With characters that URLs and JSON encode.
  const special = `${randomBytes(9).toString('base64url')}"\\ @/%?#${randomBytes(9).toString('hex')}`;
  const passwordOfService = search.secret('DATABASE_SERVICE_PASSWORD', special);
  await createRoles(passwordOfOwner, passwordOfService);
  const { valid, revoked } = await issueTokens(as(owner, passwordOfOwner));
  const token = search.secret('AUTH_TOKEN');
  const previous = search.secret('AUTH_TOKEN_PREVIOUS');
  valid.push(['AUTH_TOKEN', token], ['AUTH_TOKEN_PREVIOUS', previous]);
  valid.push(['JWT', search.token('JWT', await issuer.token())]);

  const url = as(role, passwordOfService);
  const environment = {
    LOG_LEVEL: 'trace',
    DATABASE_URL_FILE: await file('url', url),
    DATABASE_MIGRATE_ON_START: 'false',
    AUTH_TOKEN_FILE: await file('token', token),
    AUTH_TOKEN_PREVIOUS: previous,
    AUTH_JWT_ISSUER: issuer.url,
    AUTH_JWT_AUDIENCE: AUDIENCE,
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
    OTEL_EXPORTER_OTLP_HEADERS: `authorization=Bearer%20${search.secret('OTEL_EXPORTER_OTLP_HEADERS')}`,
    OTEL_BSP_SCHEDULE_DELAY: '20',
  };
  await Promise.all([
    startInVain({ ...environment, AUTH_TOKEN: token }),
    startInVain({ AUTH_TOKEN: token.slice(0, 31), DATABASE_URL: url }),
    startInVain({ AUTH_TOKEN: token, DATABASE_URL: url.replace('://', '//') }),
    startInVain({ AUTH_TOKEN: token, DATABASE_URL: `${url}?channel_binding=require` }),
    startInVain({ AUTH_TOKEN: token, DATABASE_URL: as(owner, broken(passwordOfOwner)) }),
  ]);

  const service = workspace.start(environment);
  address = await service.listening();
  for (const [index, [name, accepted]] of valid.entries()) {
    await succeed(name, accepted, index + 10);
    await misuse(accepted);
    await fail(accepted);
  }
  await call('refused', '/plants/1', { headers: bearer(revoked) });
  for (const path of ['/', '/docs', '/openapi.json', '/openapi.yaml']) await call('docs', path);

  await database.query('ALTER TABLE plants RENAME TO away');
  await call('broken schema', '/plants/1', { headers: bearer(token) });
  await post('broken schema', token);
  await database.query('ALTER TABLE away RENAME TO plants');
  await outage("PASSWORD 'other'", `PASSWORD '${passwordOfService}'`, token);
  await outage('NOLOGIN', 'LOGIN', token);

  await vi.waitFor(() => expect(collector.credentials).not.toEqual([]), PATIENCE);
  collector.stop();
  // Its trace is lost.
  await call('AUTH_TOKEN', '/plants', { headers: bearer(token) });
  for (const path of ['/metrics', '/health/ready']) {
    search.keep(path, await (await fetch(address.managementUrl + path)).text());
  }
  service.kill('SIGTERM');
  exit = await service.exit();
  search.keep('stdout', service.stdout);
  search.keep('stderr', service.stderr);
  search.keep('the collector', ...collector.bodies);
  for (const { table, rows } of await database.query(ROWS)) {
    search.keep(`table ${String(table)}`, String(rows));
  }
});

afterAll(async () => {
  await workspace.remove();
  await issuer.close();
  await database.query(`REASSIGN OWNED BY ${owner} TO CURRENT_USER`);
  await database.query(`DROP OWNED BY ${role}, ${owner}; DROP ROLE ${role}, ${owner}`);
  await database.drop();
});

describe('a run with every kind of secret', () => {
  it('uses all of them, in success and failure', () => {
    const seen = [...statuses].map(([name, all]) => [
      name,
      [...new Set(all)].toSorted((one, other) => one - other),
    ]);
    expect(Object.fromEntries(seen)).toEqual({
      AUTH_TOKEN: [200],
      AUTH_TOKEN_PREVIOUS: [200],
      'issued token': [200],
      'rotated token': [200],
      JWT: [200],
      misuse: [400, 404, 405, 415],
      refused: [401],
      malformed: [400, 401, 431],
      docs: [200, 302],
      'broken schema': [500],
      outage: [503],
      'after the outage': [200],
    });
    expect(collector.credentials[0]).toMatch(/^Bearer [\w-]{40}$/);
    expect(exit).toEqual({ code: 0, signal: null });
  });

  it('shows none of them, whole or in part, in whatever encoding', () => {
    expect(search.found()).toEqual([]);
    const tables = search.places.filter((place) => place.startsWith('table '));
    expect(tables).toEqual(expect.arrayContaining(['table access_tokens', 'table plants']));
    expect(search.places.filter((place) => !tables.includes(place)).toSorted()).toEqual([
      '/health/ready',
      '/metrics',
      'answers',
      'failed starts',
      'plant-store export',
      'plant-store token',
      'stdout',
      'the collector',
      'the migrations',
    ]);
  });
});
