import { describe, expect, it } from 'vitest';
import { eventsOf } from '../src/event-stream.js';
import type { ServerEvent } from '../src/event-stream.js';
import { all } from './plants.js';

async function* chunksOf(bytes: Uint8Array, size: number): AsyncGenerator<Uint8Array, void> {
  for (let at = 0; at < bytes.length; at += size) {
    await Promise.resolve();
    yield bytes.subarray(at, at + size);
  }
}

/** The events of a text that arrives as one chunk. They are the same when it arrives in chunks of one or two bytes. */
async function eventsIn(text: string): Promise<ServerEvent[]> {
  const bytes = new TextEncoder().encode(text);
  const events = await all(eventsOf(chunksOf(bytes, Infinity)));
  for (const size of [1, 2]) expect(await all(eventsOf(chunksOf(bytes, size)))).toEqual(events);
  return events;
}

const message = (data: string | undefined, id = '') => ({ id, type: 'message', data });

describe('a stream of events', () => {
  it.each([
    ['LF', 'id: 1\ndata: a\n\ndata: b\n\n'],
    ['CR', 'id: 1\rdata: a\r\rdata: b\r\r'],
    ['CR LF', 'id: 1\r\ndata: a\r\n\r\ndata: b\r\n\r\n'],
    ['all of them', 'id: 1\r\ndata: a\n\rdata: b\r\r\n'],
  ])('has lines that end with %s', async (_end, text) => {
    expect(await eventsIn(text)).toEqual([message('a', '1'), message('b', '1')]);
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

  it('may begin with a byte order mark, and has characters of several bytes', async () => {
    expect(await eventsIn('\uFEFFdata: Séneçon 🌵\u2028x\n\n')).toEqual([
      message('Séneçon 🌵\u2028x'),
    ]);
  });

  it('joins the lines of data', async () => {
    expect(await eventsIn('data: a\ndata\ndata:  b\ndata:\n\n')).toEqual([message('a\n\n b\n')]);
  });

  it('has comments and unknown fields, which say nothing', async () => {
    expect(await eventsIn(':\n\n: a\nretry: 9\nother: x\n data: x\n\ndata:a:b\n\n')).toEqual([
      message('a:b'),
    ]);
  });

  it('keeps an id until the next one, and passes on an id alone', async () => {
    expect(await eventsIn('id: 1\ndata: a\n\nid: 2\n\ndata: b\n\nid\ndata: c\n\n')).toEqual([
      message('a', '1'),
      message(undefined, '2'),
      message('b', '2'),
      message('c', ''),
    ]);
  });

  it('ignores an id with U+0000', async () => {
    expect(await eventsIn('id: 1\nid: 2\0\ndata: a\n\n')).toEqual([message('a', '1')]);
  });

  it('has a type for each event', async () => {
    expect(await eventsIn('event: notice\ndata: a\n\ndata: b\n\n')).toEqual([
      { id: '', type: 'notice', data: 'a' },
      message('b'),
    ]);
  });

  it('leaves out an event that is not complete', async () => {
    expect(await eventsIn('data: a\n\nid: 2\ndata: b\n')).toEqual([message('a')]);
  });
});
