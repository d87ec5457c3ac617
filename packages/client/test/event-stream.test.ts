import { describe, expect, it } from 'vitest';
import { eventsOf } from '../src/runtime/event-stream.js';
import type { ServerEvent } from '../src/runtime/event-stream.js';

async function* chunksOf(bytes: Uint8Array, size: number): AsyncGenerator<Uint8Array, void> {
  for (let at = 0; at < bytes.length; at += size) {
    await Promise.resolve();
    yield bytes.subarray(at, at + size);
  }
}

/** All items of an iteration. */
async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const item of items) found.push(item);
  return found;
}

const message = (data: string | undefined, id = '') => ({ id, type: 'message', data });

const [A, B] = [message('a', '1'), message('b', '1')];

describe('a stream of events', () => {
  it.each<[string, string, ServerEvent[]]>([
    ['lines that end with LF', 'id: 1\ndata: a\n\ndata: b\n\n', [A, B]],
    ['lines that end with CR', 'id: 1\rdata: a\r\rdata: b\r\r', [A, B]],
    ['lines that end with CR LF', 'id: 1\r\ndata: a\r\n\r\ndata: b\r\n\r\n', [A, B]],
    ['lines that end with any of them', 'id: 1\r\ndata: a\n\rdata: b\r\r\n', [A, B]],
    ['a byte order mark', '\uFEFFdata: x\n\n', [message('x')]],
    ['long characters', 'data: Séneçon 🌵\u2028x\n\n', [message('Séneçon 🌵\u2028x')]],
    ['lines of data, joined', 'data: a\ndata\ndata:  b\ndata:\n\n', [message('a\n\n b\n')]],
    [
      'comments and unknown fields, which say nothing',
      ':\n\n: a\nretry: 9\nother: x\n data: x\n\ndata:a:b\n\n',
      [message('a:b')],
    ],
    [
      'ids that last until the next one, also alone',
      'id: 1\ndata: a\n\nid: 2\n\ndata: b\n\nid\ndata: c\n\n',
      [A, message(undefined, '2'), message('b', '2'), message('c', '')],
    ],
    ['no id with U+0000', 'id: 1\nid: 2\0\ndata: a\n\n', [A]],
    [
      'a type for each event',
      'event: notice\ndata: a\n\ndata: b\n\n',
      [{ id: '', type: 'notice', data: 'a' }, message('b')],
    ],
    ['no event that is not complete', 'data: a\n\nid: 2\ndata: b\n', [message('a')]],
  ])('has %s', async (_what, text, events) => {
    const bytes = new TextEncoder().encode(text);
    for (const size of [Infinity, 1, 2]) {
      expect(await all(eventsOf(chunksOf(bytes, size)))).toEqual(events);
    }
  });

  it('dispatches an event with its blank line, also if a CR ends it', async () => {
    let push!: (text: string) => void;
    const body = new ReadableStream<Uint8Array>({
      start: (controller) => {
        push = (text) => controller.enqueue(new TextEncoder().encode(text));
      },
    });
    const events = eventsOf(body);
    push('data: a\r\r');
    expect((await events.next()).value).toEqual(message('a'));
    push('\ndata: b\r\r');
    expect((await events.next()).value).toEqual(message('b'));
    await events.return();
  });
});
