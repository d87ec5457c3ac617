import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { createServer as createHttpServer } from 'node:http';
import type { RequestListener } from 'node:http';
import { connect, createServer } from 'node:net';
import type { AddressInfo, Server, Socket } from 'node:net';
import { promisify } from 'node:util';
import type { Type } from '@nestjs/common';
import { OmitType } from '@nestjs/swagger';
import { Client, DatabaseError } from 'pg';
import { QueryRunnerAlreadyReleasedError } from 'typeorm';
import { afterEach, describe, expect, inject, it, vi } from 'vitest';
import { DATABASE_LIMITS } from '../../src/database/limits.js';
import { poolOf } from '../../src/database/connections/bounded-pool.js';
import { PoolClient } from '../../src/database/connections/pool-client.js';
import { stopParsing } from '../../src/http/body/unread-body.js';
import { unsentBytes } from '../../src/http/server/connection.js';
import { EntityColumns } from '../../src/resources/properties/entity-columns.js';
import { resourceMistakes } from '../../src/resources/resource-checks.js';
import type { Identified } from '../../src/resources/properties/entity-columns.js';
import { Int64Field } from '../../src/resources/properties/int64.js';
import { TextField } from '../../src/resources/properties/text.js';
import { dataSourceFor } from '../support/data-source.js';
import { IDENTITY } from '../support/identity.js';
import { PATIENCE } from '../support/patience.js';
import { Tool } from '../support/tool.js';

/* What docs/private-apis.md lists and no other test would miss. */

const sockets: Socket[] = [];
const servers: Server[] = [];

afterEach(() => {
  for (const socket of sockets.splice(0)) socket.destroy();
  for (const server of servers.splice(0)) server.close();
});

function initialDataSource() {
  const schema = { entities: [Tool], migrations: [] };
  return dataSourceFor({ identity: IDENTITY, schema }, inject('postgresUrl')).initialize();
}

async function connectTo(server: Server): Promise<Socket> {
  servers.push(server);
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1');
  sockets.push(client);
  return client;
}

it("a socket's handle tells how much of a long write has left", async () => {
  const server = createServer();
  const accepted = once(server, 'connection');
  const client = (await connectTo(server)).pause();
  const [socket] = (await accepted) as [Socket];
  sockets.push(socket);
  const length = 64 * 1024 * 1024;
  socket.write(Buffer.alloc(length));
  const unsent = () => unsentBytes(socket) - socket.writableLength;
  // The kernel has taken the first bytes. The stream counts the write until all of it has left.
  await vi.waitUntil(() => unsent() < length, PATIENCE);
  const before = unsent();
  client.resume();
  await vi.waitUntil(() => unsent() < before || socket.writableLength === 0, {
    timeout: PATIENCE,
    interval: 1,
  });
  client.pause();
  expect(socket.writableLength).toBe(length);
});

it("a listener for data takes a socket away from Node's HTTP parser", async () => {
  const requests = vi.fn<RequestListener>();
  const server = createHttpServer(requests);
  const client = await connectTo(server);
  const request = 'GET / HTTP/1.1\r\nHost: x\r\n\r\n';
  client.write(request);
  await vi.waitUntil(() => requests.mock.calls.length > 0, PATIENCE);
  const [{ socket }] = requests.mock.calls[0]!;
  stopParsing(socket);
  socket.resume();
  client.write(request);
  await vi.waitUntil(() => socket.bytesRead === 2 * request.length, PATIENCE);
  expect(requests).toHaveBeenCalledTimes(1);
});

it('V8 has the flag that bounds the growth of the heap', async () => {
  const run = promisify(execFile)(process.execPath, ['--heap-growing-percent=30', '--eval', '']);
  await expect(run).resolves.toEqual({ stdout: '', stderr: '' });
});

it('a prepared statement can be dropped, and is prepared again by its next use', async () => {
  const client = new PoolClient({
    connectionString: inject('postgresUrl'),
    limits: { ...DATABASE_LIMITS, reply: 10_000 },
  });
  await client.connect();
  try {
    await client.adoptSession(false);
    const statement = { name: 'one', text: 'SELECT 1 AS one' };
    const prepared = () => client.query('SELECT name FROM pg_prepared_statements');
    await client.query(statement);
    expect((await prepared()).rows).toEqual([{ name: 'one' }]);
    await client.forget('one');
    expect((await prepared()).rows).toEqual([]);
    await client.forget('one');
    expect((await client.query(statement)).rows).toEqual([{ one: 1 }]);
    expect((await prepared()).rows).toEqual([{ name: 'one' }]);
    // Only now and then.
    await client.forget('one');
    expect((await prepared()).rows).toEqual([{ name: 'one' }]);
  } finally {
    await client.end();
  }
});

it('a query of the driver takes its parts from its fields', async () => {
  const client = new PoolClient({
    connectionString: inject('postgresUrl'),
    limits: { ...DATABASE_LIMITS, reply: 10_000 },
  });
  await client.connect();
  try {
    await client.adoptSession(false);
    const types = { getTypeParser: () => (text: string) => `<${text}>` };
    const statement = { name: 'two', text: 'SELECT $1::int AS one, 2 AS two', values: [1], types };
    const array = { ...statement, rowMode: 'array' } as const;
    expect((await client.query(statement)).rows).toEqual([{ one: '<1>', two: '<2>' }]);
    expect((await client.query(array)).rows).toEqual([['<1>', '<2>']]);
    expect((await client.query('SELECT name FROM pg_prepared_statements')).rows).toEqual([
      { name: 'two' },
    ]);
  } finally {
    await client.end();
  }
});

it('a driver prepares values of columns, and its query runners pass failures on', async () => {
  const dataSource = await initialDataSource();
  try {
    expect(new EntityColumns(dataSource, Tool).key.toParameter(7n)).toBe('7');
    await expect(dataSource.query('SELECT 1 / 0')).rejects.toBeInstanceOf(DatabaseError);
  } finally {
    await dataSource.destroy();
  }
});

it('a query runner whose connection breaks stays with its user', async () => {
  const dataSource = await initialDataSource();
  const operator = new Client(inject('postgresUrl'));
  await operator.connect();
  const runner = dataSource.createQueryRunner();
  try {
    const session = (await runner.connect()) as PoolClient;
    const [{ pid }] = (await runner.query('SELECT pg_backend_pid() AS pid')) as [{ pid: number }];
    const ended = new Promise((resolve) => session.once('end', resolve));
    await operator.query('SELECT pg_terminate_backend($1)', [pid]);
    await ended;
    expect(runner.isReleased).toBe(false);
    const failure: unknown = await runner.query('SELECT 1').catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(Error);
    expect(failure).not.toBeInstanceOf(QueryRunnerAlreadyReleasedError);
  } finally {
    await runner.release();
    await operator.end();
    await dataSource.destroy();
  }
});

it('a pool passes on that it cannot make a client, also in an event', async () => {
  const dataSource = await initialDataSource();
  try {
    const pool = poolOf(dataSource)!;
    pool.options.max = 1;
    const first = await pool.lend();
    const second = pool.lend().catch((error: unknown) => error);
    const url = new URL(inject('postgresUrl'));
    url.searchParams.set('sslrootcert', '/no/such/certificate.pem');
    pool.options.connectionString = url.href;
    // The pool makes another client when this one is gone.
    first.release(new Error('broken'));
    expect(await second).toMatchObject({ code: 'ENOENT' });
  } finally {
    await dataSource.destroy();
  }
});

describe('an optional member', () => {
  class Whole implements Identified {
    @Int64Field({ description: '', example: 1 })
    readonly id!: bigint;

    @TextField({ description: '', example: '' })
    readonly name!: string;

    @TextField({ description: '', example: '', isOptional: true })
    readonly tag!: string | null;
  }

  class NameOptional extends OmitType(Whole, ['name']) {
    @TextField({ description: '', example: '', isOptional: true })
    readonly name!: string | null;
  }

  class TagRequired extends OmitType(Whole, ['tag']) {
    @TextField({ description: '', example: '' })
    readonly tag!: string;
  }

  it('must have a nullable column, and a nullable column an optional member', async () => {
    const dataSource = await initialDataSource();
    try {
      const mistakesOf = (dto: Type): readonly string[] =>
        resourceMistakes(
          dataSource,
          { entity: Tool, dto, isGenerated: false, filters: {}, expansions: {} },
          [],
        );
      const constraint = 'must be optional if and only if its column is nullable';
      expect(mistakesOf(Whole)).toEqual([]);
      expect(mistakesOf(NameOptional)).toEqual([`NameOptional.name ${constraint}`]);
      expect(mistakesOf(TagRequired)).toEqual([`TagRequired.tag ${constraint}`]);
    } finally {
      await dataSource.destroy();
    }
  });
});
