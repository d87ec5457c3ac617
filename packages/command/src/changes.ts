import type { Writable } from 'node:stream';
import { parse, stringify } from 'lossless-json';
import { eventsOf } from '@resource-service/client/event-stream';
import { open, readText, RequestRefused, temporary } from './client.js';
import { ContactError, EXIT, isBrokenPipe, TemporaryFailure } from './command-error.js';
import type { Connection } from './connection.js';
import type { Feed } from './feeds.js';
import { choiceOf } from './help.js';
import { optionOf } from './options.js';
import { Retries } from './retries.js';
import type { Limits } from './retries.js';
import type { Service } from './service.js';
import type { Terminal } from './terminal.js';

const PAGE_SIZE = 1_000;

export interface ChangesOptions {
  readonly feed: Feed;
  /** The position after which to begin. */
  readonly after?: bigint | undefined;
  /** The id of the only record whose changes are wanted. */
  readonly selected: string | undefined;
  /** Whether to go on with the changes that come. */
  readonly follow?: true;
}

/** What one event or one page has. */
interface Found {
  /** In JSON. */
  readonly changes: readonly string[];
  /** The position up to which these are all. */
  readonly position: bigint;
}

interface Reading {
  readonly connection: Connection;
  readonly retries: Retries;
  readonly limits: Limits;
  readonly signal: AbortSignal;
}

/** The subcommand `changes`. Returns the exit code. */
export async function writeChanges(
  options: ChangesOptions,
  connection: Connection,
  { stdout, stderr }: Terminal,
  signal: AbortSignal,
  limits: Limits,
): Promise<number> {
  const broken = new AbortController();
  const fail = (error: unknown): void => broken.abort(error);
  stdout.on('error', fail);
  const end = AbortSignal.any([signal, broken.signal]);
  const retries = new Retries(
    connection.service.identity.name,
    end,
    (message) => stderr.write(`${message}\n`),
    limits,
  );
  const reading = { connection, retries, limits, signal: end };
  let { after } = options;
  let written = after;
  try {
    for await (const { changes, position } of options.follow
      ? followed(options, reading)
      : listed(options, reading)) {
      end.throwIfAborted();
      after = position;
      await write(stdout, changes.map((change) => `${change}\n`).join(''), end, fail);
      written = position;
    }
  } catch (error) {
    const isBroken = broken.signal.aborted;
    const reason: unknown = isBroken ? broken.signal.reason : error;
    // What an interrupted command has handed to its output is still written.
    const last = isBroken ? written : after;
    if (last !== undefined && !isBrokenPipe(reason) && !isPositionRefused(reason)) {
      stderr.write(`to continue: ${commandOf({ ...options, after: last }, connection.service)}\n`);
    }
    throw isNotRecorded(reason)
      ? new ContactError(`${reason.message}: this service records no changes (CHANGES_ENABLED)`)
      : reason;
  }
  return EXIT.done;
}

/** Resolves when the text is written. A failure of the stream aborts the signal. */
function write(
  stream: Writable,
  text: string,
  signal: AbortSignal,
  fail: (error: unknown) => void,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const abort = (): void => reject(signal.reason as Error);
    signal.addEventListener('abort', abort);
    stream.write(text, (error) => {
      if (error) fail(error);
      signal.removeEventListener('abort', abort);
      resolve();
    });
  });
}

/** Reads pages up to the change that is the newest now. What comes meanwhile could go on forever. */
async function* listed(
  options: ChangesOptions,
  { connection, retries, signal }: Reading,
): AsyncGenerator<Found, void> {
  const read = (path: string): Promise<unknown> =>
    retries.run(async () => {
      const accept = 'application/json';
      return parse(await readText(await open(connection, { method: 'GET', path, accept, signal })));
    });
  const latest = positionOf(await read(`/${options.feed.name}/latest`));
  let { after } = options;
  do {
    const changes = (await read(pathOf({ ...options, after }, PAGE_SIZE))) as readonly unknown[];
    if (changes.length === 0) return;
    after = positionOf(changes.at(-1));
    yield { changes: changes.map((change) => stringify(change)!), position: after };
  } while (after < latest);
}

/** Reads events without an end. */
async function* followed(
  options: ChangesOptions,
  { connection, retries, limits, signal }: Reading,
): AsyncGenerator<Found, void> {
  const attempts = retries.begin();
  let { after } = options;
  for (;;) {
    const start = after;
    let openedAt = Infinity;
    try {
      const path = pathOf({ ...options, after });
      const accept = 'text/event-stream';
      const response = await open(connection, { method: 'GET', path, accept, signal });
      openedAt = performance.now();
      for await (const { id, type, data } of eventsOf(bytesOf(response))) {
        const position = BigInt(id);
        yield { changes: data !== undefined && type === 'message' ? [data] : [], position };
        after = position;
      }
      throw new TemporaryFailure('the stream of changes ended');
    } catch (error) {
      const isUseful = after !== start || performance.now() - openedAt >= limits.longestPause;
      if (isUseful) attempts.succeeded();
      await attempts.failed(error);
    }
  }
}

function positionOf(found: unknown): bigint {
  return BigInt(String((found as { readonly position: unknown }).position));
}

async function* bytesOf(response: AsyncIterable<Buffer>): AsyncGenerator<Buffer, void> {
  try {
    yield* response;
  } catch (error) {
    throw temporary(error);
  }
}

function pathOf({ feed, after, selected }: ChangesOptions, limit?: number): string {
  const query = new URLSearchParams();
  if (after !== undefined) query.set('after', String(after));
  if (feed.selection && selected !== undefined) query.set(feed.selection.name, selected);
  if (limit !== undefined) query.set('limit', String(limit));
  return `/${feed.name}?${query.toString()}`;
}

/** The service refuses the position, so it would do so again. */
function isPositionRefused(error: unknown): boolean {
  return error instanceof RequestRefused && (error.status === 400 || error.status === 410);
}

function isNotRecorded(error: unknown): error is RequestRefused {
  return error instanceof RequestRefused && error.status === 404;
}

function commandOf(
  { feed, after, selected, follow }: ChangesOptions,
  { identity, feeds }: Service,
): string {
  const choice = choiceOf(feed.name, '--feed', feeds[0]);
  const mode = follow ? ' --follow' : '';
  const selection =
    feed.selection && selected !== undefined
      ? ` --${optionOf(feed.selection.name)} ${selected}`
      : '';
  return `${identity.name} changes${choice}${mode} --after ${after}${selection}`;
}
