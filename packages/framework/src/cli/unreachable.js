import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { textOf } from './start-variables.js';

/* A database that is out of reach, found before the build takes its time. The service itself checks the rest of DATABASE_URL. */

/** In milliseconds, as the service waits (`STARTUP_LIMITS` in `connect.ts`, which is not built yet). */
const WAIT = 30_000;
const RETRY = 500;

/** Of a connection, in milliseconds. */
const TIMEOUT = 5_000;

/** The hosts of a URL, and what follows them. */
const PARTS = /^postgres(?:ql)?:\/\/(?:[^/?#]*@)?([^/?#]*)(.*)$/s;

/** An IPv6 address in brackets, or another host, and a port. */
const SERVER = /^(?:\[([\da-f:.]+)\]|([^:%[\]\s]+))(?::(\d{1,5}))?$/i;

/**
 * Waits until a server of the database accepts connections.
 *
 * @param {Readonly<Record<string, string | undefined>>} variables
 * @param {(text: string) => void} say is told of a wait
 * @param {number} [wait] in milliseconds
 * @returns a line if none does. Empty also if the URL has its servers elsewhere, or is wrong: that is left to the service
 */
export async function findUnreachable(variables, say, wait = WAIT) {
  const file = variables.DATABASE_URL_FILE?.trim();
  const name = file ? 'DATABASE_URL_FILE' : 'DATABASE_URL';
  const url = file ? textOf(file) : (variables.DATABASE_URL ?? '');
  const servers = serversOf(url.trim(), variables.PGPORT?.trim() || '5432');
  if (servers.length === 0) return [];
  const places = servers.map(
    ({ host, port }) => `${host.includes(':') ? `[${host}]` : host}:${port}`,
  );
  const deadline = performance.now() + wait;
  for (let isTold = false; ; isTold = true) {
    const code = await codeOf(servers);
    if (code === undefined) return [];
    const where = `${places.join(', ')} (${code})`;
    if (performance.now() >= deadline) {
      return [
        `${name}: no server accepts connections at ${where}: start it, correct the address, or unset ${name} to use the embedded PostgreSQL`,
      ];
    }
    if (!isTold) say(`waiting up to ${wait / 1_000} s for the database at ${where}`);
    await sleep(RETRY);
  }
}

/**
 * @param {string} url
 * @param {string} usualPort
 */
function serversOf(url, usualPort) {
  const [, hosts = '', rest = ''] = PARTS.exec(url) ?? [];
  // The parameters override the hosts. The other characters are of a password that is not encoded, which must not be printed.
  if (/[?&](host|port)=|[@#]/.test(rest)) return [];
  const servers = hosts.split(',').map((text) => {
    const [, address, name, port = usualPort] = SERVER.exec(text) ?? [];
    return { host: address ?? name ?? '', port: Number(port) };
  });
  const isKnown = servers.every(({ host, port }) => host !== '' && port >= 1 && port <= 65_535);
  return isKnown ? servers : [];
}

/**
 * @param {readonly { readonly host: string, readonly port: number }[]} servers
 * @returns {Promise<string | undefined>} why the first of them accepts no connection, if none of them does
 */
async function codeOf(servers) {
  try {
    await Promise.any(servers.map(reach));
    return undefined;
  } catch (error) {
    const [{ code, message }] = error.errors;
    return code === 'ABORT_ERR' ? 'ETIMEDOUT' : (code ?? message);
  }
}

/** @param {{ readonly host: string, readonly port: number }} server */
async function reach(server) {
  const socket = connect(server);
  try {
    await once(socket, 'connect', { signal: AbortSignal.timeout(TIMEOUT) });
  } finally {
    socket.destroy();
  }
}
