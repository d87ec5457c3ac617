import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { parseEnv } from 'node:util';

/* What a start cannot succeed with, found before the build takes its time. The service itself checks all variables. */

const LISTENERS = [
  { name: 'PORT', host: 'HOST', fallback: '3000' },
  { name: 'MANAGEMENT_PORT', host: 'MANAGEMENT_HOST', fallback: '3001' },
];

/** @returns a line for each port that is taken, and one for what to do. Empty if none is */
export async function takenPorts() {
  const variables = { ...parseEnv(textOf('.env').replaceAll('\uFEFF', '')), ...process.env };
  const taken = [];
  for (const { name, host: hostName, fallback } of LISTENERS) {
    const host = variables[hostName]?.trim() || '127.0.0.1';
    const port = variables[name]?.trim() || fallback;
    if (await isTaken(host, port)) taken.push({ name, host, port });
  }
  if (taken.length === 0) return [];
  const names = taken.map(({ name }) => name).join(' and ');
  const isSecond = !variables.DATABASE_URL && !variables.DATABASE_URL_FILE && isDatabaseRunning();
  return [
    ...taken.map(({ name, host, port }) => `${name}: port ${port} on ${host} is already in use`),
    isSecond
      ? `the service seems to run in this folder already: stop it first. If it was killed, set ${names}`
      : `set ${names}, in the environment or in .env`,
  ];
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

/** It may also be left by a service that was killed. */
function isDatabaseRunning() {
  const pid = Number.parseInt(textOf('.data/postgres/data/postmaster.pid'), 10);
  try {
    return pid > 0 && process.kill(pid, 0);
  } catch (error) {
    return error.code === 'EPERM';
  }
}

/** @param {string} file */
function textOf(file) {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}
