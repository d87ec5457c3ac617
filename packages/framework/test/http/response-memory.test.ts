import { EventEmitter } from 'node:events';
import type { ServerResponse } from 'node:http';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { ERRORS } from '../../src/errors/common-errors.js';
import { ResponseMemory } from '../../src/http/responses/response-memory.js';

const MB = 1024 * 1024;

let clock = 0;
let memory: ResponseMemory;

beforeEach(() => {
  clock = 1_000;
  vi.spyOn(performance, 'now').mockImplementation(() => clock);
  memory = new ResponseMemory();
});

afterEach(() => {
  vi.restoreAllMocks();
});

/** A response whose client reads nothing until it is closed. */
function unread(destroy = vi.fn<(reason: Error) => void>()) {
  const socket = { destroy, writableLength: 1 };
  const response = Object.assign(new EventEmitter(), { socket, req: { socket } });
  return {
    response: response as unknown as ServerResponse,
    destroy,
    /** What it has written leaves at once. */
    leave: () => void (socket.writableLength = 0),
    close: () => void response.emit('close'),
  };
}

/** Writes a response that announces its length. */
function hold(bytes: number, client = unread()) {
  memory.requireRoom(bytes);
  return write(bytes, client);
}

/** Writes a response that does not. */
function write(bytes: number, client = unread()) {
  memory.hold(client.response, bytes);
  return client;
}

const nextTick = () => new Promise<void>((resolve) => process.nextTick(resolve));

function expectFull(bytes = MB): void {
  expect(() => hold(bytes)).toThrow(expect.objectContaining({ kind: ERRORS.tooManyAnswers }));
}

describe('the memory for responses', () => {
  it('takes 64 MB of large responses, and refuses more until one has left', () => {
    const [first] = [hold(32 * MB), hold(32 * MB)];
    expectFull();
    first.close();
    hold(32 * MB);
    expectFull();
  });

  it('counts once what several responses share, until the last has left', () => {
    const part = {};
    const clients = Array.from({ length: 100 }, () => unread());
    for (const { response } of clients) {
      memory.requireRoom(64 * MB, part);
      memory.hold(response, 64 * MB, part);
    }
    for (const { close } of clients.slice(1)) close();
    expectFull();
    clients[0]!.close();
    hold(64 * MB);
  });

  it('takes what several responses share from all that have not read it in time', () => {
    const part = {};
    const clients = [unread(), unread()];
    for (const { response } of clients) memory.hold(response, 64 * MB, part);
    clock += 10_000;
    hold(64 * MB);
    for (const { destroy } of clients) expect(destroy).toHaveBeenCalledOnce();
  });

  it('counts short responses, too', async () => {
    const destroy = vi.fn<(reason: Error) => void>();
    const clients = Array.from({ length: 64 * 1024 }, () => hold(1024, unread(destroy)));
    expectFull(1);
    clients[0]!.close();
    hold(1024);
    await nextTick();
    expect(destroy).not.toHaveBeenCalled();
  });

  it('cuts off a client that does not read what was written without room', async () => {
    const read = hold(64 * MB);
    const client = write(1024);
    await nextTick();
    expect(client.destroy).toHaveBeenCalledOnce();
    expect(read.destroy).not.toHaveBeenCalled();
  });

  it('cuts off nobody whose response leaves at once', async () => {
    hold(64 * MB);
    const client = write(1024);
    client.leave();
    await nextTick();
    expect(client.destroy).not.toHaveBeenCalled();
  });

  it('cuts off who has not read for ten seconds before anybody else', async () => {
    const stale = hold(64 * MB);
    clock += 10_000;
    const client = write(1024);
    await nextTick();
    expect(stale.destroy).toHaveBeenCalledOnce();
    expect(client.destroy).not.toHaveBeenCalled();
  });

  it('takes a response of any length if there is no other', () => {
    const huge = hold(600 * MB);
    expectFull();
    huge.close();
    hold(MB);
  });

  it('cuts off clients that have not read for ten seconds, the oldest first and no more than needed', () => {
    const [oldest, older] = [hold(30 * MB), hold(30 * MB)];
    clock += 9_999;
    expectFull(30 * MB);
    clock += 1;
    hold(30 * MB);
    expect(oldest.destroy).toHaveBeenCalledOnce();
    expect(older.destroy).not.toHaveBeenCalled();
    // The end of the connection frees nothing twice.
    oldest.close();
    expect(() => hold(30 * MB)).not.toThrow();
    expect(older.destroy).toHaveBeenCalledOnce();
    expectFull(30 * MB);
  });

  it('leaves slow clients alone as long as there is room', () => {
    const slow = hold(30 * MB);
    clock += 60_000;
    hold(30 * MB);
    expect(slow.destroy).not.toHaveBeenCalled();
  });
});
