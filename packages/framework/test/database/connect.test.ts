import { once } from 'node:events';
import { createServer } from 'node:net';
import type { AddressInfo, Server } from 'node:net';
import { pino } from 'pino';
import { afterEach, describe, expect, it } from 'vitest';
import { connect, STARTUP_LIMITS } from '../../src/database/connect.js';
import { createDataSource } from '../support/tool-library.js';

describe('a start that a server refuses', () => {
  let server: Server;

  afterEach(() => server.close());

  /** The failure of a start that waits no time, at a server that answers each connection with an error. */
  async function start(state: string, message: string): Promise<string> {
    const fields = `SFATAL\0VFATAL\0C${state}\0M${message}\0\0`;
    const error = Buffer.from(`E\0\0\0\0${fields}`);
    error.writeInt32BE(4 + fields.length, 1);
    server = createServer((socket) => {
      socket.on('error', () => {});
      socket.once('data', () => socket.end(error));
    });
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const { port } = server.address() as AddressInfo;
    const waiting = {
      log: pino({ level: 'silent' }),
      signal: new AbortController().signal,
      limits: { ...STARTUP_LIMITS, wait: 0 },
    };
    return connect(createDataSource(`postgres://a:b@127.0.0.1:${port}/c`), waiting).then(
      () => 'connected',
      (failure: Error) => failure.message,
    );
  }

  it.each([
    ['08P01', 'server login has been failing, try again later (server_login_retry)'],
    [
      '08P01',
      'server login has been failing, cached error: password authentication failed (server_login_retry)',
    ],
    ['08P01', 'no more connections allowed (max_client_conn)'],
    ['08P01', 'query_wait_timeout'],
    ['08P01', 'client_login_timeout (server down)'],
    ['08P01', 'pgbouncer cannot connect to server'],
    ['08P01', 'pooler is shutting down'],
    ['53100', 'could not write file: No space left on device'],
    ['53200', 'out of memory'],
    ['53300', 'sorry, too many clients already'],
    ['55000', 'database "c" is not currently accepting connections'],
    ['57P03', 'the database system is starting up'],
  ])('with %s (%s) waits', async (state, message) => {
    expect(await start(state, message)).toMatch(/ did not respond within 0 s: /);
  });

  it.each([
    ['08P01', 'no such database: c'],
    ['08P01', 'no such user'],
    ['08P01', 'unsupported startup parameter: options'],
    ['08P01', 'SSL required'],
    ['08P01', 'password authentication failed'],
    ['08P01', 'login rejected'],
    ['08P01', 'transaction blocks not allowed in statement pooling mode'],
    ['28P01', 'password authentication failed for user "a"'],
    ['3D000', 'database "c" does not exist'],
  ])('with %s (%s) ends at once', async (state, message) => {
    expect(await start(state, message)).toMatch(/: cannot connect to /);
  });
});
