import { once } from 'node:events';
import { createServer } from 'node:net';
import type { AddressInfo, Server } from 'node:net';
import { pino } from 'pino';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { connect, STARTUP_LIMITS } from '../../src/database/connect.js';
import { createDataSource } from '../support/tool-library.js';

const WAITING = {
  log: pino({ level: 'silent' }),
  signal: new AbortController().signal,
  limits: { ...STARTUP_LIMITS, wait: 0 },
};

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
    return connect(createDataSource(`postgres://a:b@127.0.0.1:${port}/c`), WAITING).then(
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

  it.each([
    [
      '28000',
      'no pg_hba.conf entry for host "10.0.0.1", user "a", database "c", no encryption',
      /, no encryption \(28000\): it may want TLS: add sslmode=verify-full$/,
    ],
    ['08P01', 'SSL required', /: SSL required: it may want TLS: add sslmode=verify-full$/],
    [
      '42704',
      'unrecognized configuration parameter "in_hot_standby"',
      /"in_hot_standby": it must be PostgreSQL 15 or newer$/,
    ],
    ['3D000', 'database "c" does not exist', /: database "c" does not exist$/],
  ])('with %s (%s) says what to do, if the server does not', async (state, message, said) => {
    expect(await start(state, message)).toMatch(said);
  });
});

it.each([
  ['SELF_SIGNED_CERT_IN_CHAIN', true],
  ['DEPTH_ZERO_SELF_SIGNED_CERT', true],
  ['UNABLE_TO_GET_ISSUER_CERT_LOCALLY', true],
  ['UNABLE_TO_VERIFY_LEAF_SIGNATURE', true],
  ['CERT_HAS_EXPIRED', false],
])('with the code %s, the start asks for sslrootcert: %s', async (code, asks) => {
  const dataSource = createDataSource('postgres://a:b@db.example/c?sslmode=verify-full');
  const error = Object.assign(new Error('failed'), { code });
  vi.spyOn(dataSource, 'initialize').mockRejectedValue(error);
  await expect(connect(dataSource, WAITING)).rejects.toThrow(
    asks ? /: failed: sslrootcert must name the certificate of its authority$/ : /: failed$/,
  );
});
