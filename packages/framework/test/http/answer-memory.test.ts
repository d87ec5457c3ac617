import { EventEmitter } from 'node:events';
import type { ServerResponse } from 'node:http';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { ERRORS } from '../../src/errors/common-errors.js';
import { AnswerMemory } from '../../src/http/answers/answer-memory.js';

const MB = 1024 * 1024;

let clock = 0;
let memory: AnswerMemory;

beforeEach(() => {
  clock = 1_000;
  vi.spyOn(performance, 'now').mockImplementation(() => clock);
  memory = new AnswerMemory();
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

/** Writes an answer that announces its length. */
function hold(bytes: number, answer = unread()) {
  memory.requireRoom(bytes);
  return write(bytes, answer);
}

/** Writes an answer that does not. */
function write(bytes: number, answer = unread()) {
  memory.hold(answer.response, bytes);
  return answer;
}

const nextTick = () => new Promise<void>((resolve) => process.nextTick(resolve));

function expectFull(bytes = MB): void {
  expect(() => hold(bytes)).toThrow(expect.objectContaining({ kind: ERRORS.tooManyAnswers }));
}

describe('the memory for answers', () => {
  it('takes 64 MB of large answers, and refuses more until one has left', () => {
    const [first] = [hold(32 * MB), hold(32 * MB)];
    expectFull();
    first.close();
    hold(32 * MB);
    expectFull();
  });

  it('counts once what several answers share, until the last has left', () => {
    const part = {};
    const answers = Array.from({ length: 100 }, () => unread());
    for (const { response } of answers) {
      memory.requireRoom(64 * MB, part);
      memory.hold(response, 64 * MB, part);
    }
    for (const { close } of answers.slice(1)) close();
    expectFull();
    answers[0]!.close();
    hold(64 * MB);
  });

  it('takes what several answers share from all that have not read it in time', () => {
    const part = {};
    const answers = [unread(), unread()];
    for (const { response } of answers) memory.hold(response, 64 * MB, part);
    clock += 10_000;
    hold(64 * MB);
    for (const { destroy } of answers) expect(destroy).toHaveBeenCalledOnce();
  });

  it('counts short answers, too', async () => {
    const destroy = vi.fn<(reason: Error) => void>();
    const answers = Array.from({ length: 64 * 1024 }, () => hold(1024, unread(destroy)));
    expectFull(1);
    answers[0]!.close();
    hold(1024);
    await nextTick();
    expect(destroy).not.toHaveBeenCalled();
  });

  it('cuts off a client that does not read what was written without room', async () => {
    const read = hold(64 * MB);
    const answer = write(1024);
    await nextTick();
    expect(answer.destroy).toHaveBeenCalledOnce();
    expect(read.destroy).not.toHaveBeenCalled();
  });

  it('cuts off nobody whose answer leaves at once', async () => {
    hold(64 * MB);
    const answer = write(1024);
    answer.leave();
    await nextTick();
    expect(answer.destroy).not.toHaveBeenCalled();
  });

  it('cuts off who has not read for ten seconds before anybody else', async () => {
    const stale = hold(64 * MB);
    clock += 10_000;
    const answer = write(1024);
    await nextTick();
    expect(stale.destroy).toHaveBeenCalledOnce();
    expect(answer.destroy).not.toHaveBeenCalled();
  });

  it('takes an answer of any length if there is no other', () => {
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
