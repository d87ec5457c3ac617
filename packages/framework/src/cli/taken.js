import { once } from 'node:events';
import { createServer } from 'node:net';
import { textOf } from './start-variables.js';

/* What a start cannot succeed with, found before the build takes its time. The service itself checks all variables. */

const LISTENERS = [
  { name: 'PORT', host: 'HOST', fallback: '3000' },
  { name: 'MANAGEMENT_PORT', host: 'MANAGEMENT_HOST', fallback: '3001' },
];

/** That a service holds on its embedded database, as `embedded-postgres.ts` of `@resource-service/local` says, which is not built yet. */
const LOCK = 7_526_841_014;

const HOLDERS = `SELECT pid FROM pg_locks
  WHERE locktype = 'advisory' AND (classid::int8 << 32) | objid::int8 = $1`;

/** In milliseconds. */
const TIMEOUT = 5_000;

/**
 * @param {string} service its name
 * @param {Readonly<Record<string, string | undefined>>} variables
 * @returns a line for each port that is taken, and one for what to do. Empty if the start can succeed
 */
export async function findTaken(service, variables) {
  const taken = [];
  for (const { name, host: hostName, fallback } of LISTENERS) {
    const host = variables[hostName]?.trim() || '127.0.0.1';
    const port = variables[name]?.trim() || fallback;
    if (await isTaken(host, port)) taken.push({ name, host, port });
  }
  const lines = taken.map(
    ({ name, host, port }) => `${name}: port ${port} on ${host} is already in use`,
  );
  const names = taken.map(({ name }) => name);
  const isLocal = !variables.DATABASE_URL?.trim() && !variables.DATABASE_URL_FILE?.trim();
  if (isLocal && (await isRunningHere(service))) {
    const needed = new Intl.ListFormat('en-GB').format([...names, 'DATABASE_URL']);
    lines.push(
      `the service is already running in this folder: stop it first, or set ${needed} for a second one`,
    );
  } else if (taken.length > 0) {
    lines.push(`set ${names.join(' and ')}, in the environment or in .env`);
  }
  return lines;
}

/**
 * @param {string} host
 * @param {string} port
 */
async function isTaken(host, port) {
  if (!/^\d{1,5}$/.test(port) || Number(port) > 65_535) return false;
  const server = createServer();
  server.listen({ port: Number(port), ...(host !== '::' && { host }) });
  try {
    await once(server, 'listening');
    server.close();
    return false;
  } catch (error) {
    return error.code === 'EADDRINUSE';
  }
}

/**
 * Whether a service uses the embedded database of this folder. Without one, it was left by a service that was killed, and the next
 * start adopts it. What cannot be asked is left to the service.
 *
 * @param {string} service
 */
async function isRunningHere(service) {
  const [, , , port] = textOf('.data/postgres/data/postmaster.pid').split('\n');
  if (!port) return false;
  try {
    const { Client } = (await import('pg')).default;
    // All of it, because the driver takes the rest from variables that are meant for another database.
    const session = new Client({
      host: '127.0.0.1',
      port: Number(port),
      user: service.replaceAll('-', '_'),
      password: textOf('.data/postgres/password').trim(),
      database: 'postgres',
      ssl: false,
      options: `-c statement_timeout=${TIMEOUT}`,
      connectionTimeoutMillis: TIMEOUT,
    });
    session.on('error', () => {});
    await session.connect();
    try {
      const { rows } = await session.query(HOLDERS, [LOCK]);
      return rows.length > 0;
    } finally {
      await session.end();
    }
  } catch {
    return false;
  }
}
