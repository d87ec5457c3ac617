import type { Writable } from 'node:stream';
import { parse, stringify } from 'lossless-json';
import { eventsOf, ServiceError } from '@resource-service/client/runtime';
import { send } from './client.js';
import {
  ContactError,
  EXIT,
  isBrokenPipe,
  reasonOf,
  TemporaryFailure,
  textOf,
} from './command-error.js';
import type { Connection } from './connection/connection.js';

import { choiceOf } from './help.js';
import { optionOf } from './options.js';
import type { Feed } from './resources.js';
import { Retries } from './connection/retries.js';
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

interface Found {
  readonly changes: readonly string[];
  /** The position up to which these are all. */
  readonly position: bigint | undefined;
}

interface Reading {
  readonly connection: Connection;
  readonly retries: Retries;
  readonly signal: AbortSignal;
}

/** The subcommand `changes`. Returns the exit code. */
export async function writeChanges(
  options: ChangesOptions,
  connection: Connection,
  { stdout, stderr }: Terminal,
  signal: AbortSignal,
): Promise<number> {
  const broken = new AbortController();
  const fail = (error: unknown): void => broken.abort(error);
  stdout.on('error', fail);
  const end = AbortSignal.any([signal, broken.signal]);
  const retries = Retries.of(connection, end, (message) => stderr.write(`${message}\n`));
  const reading = { connection, retries, signal: end };
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
      ? new ContactError(
          `${textOf(reasonOf(reason))}: this service records no changes (CHANGES_ENABLED)`,
        )
      : reason;
  }
  return EXIT.done;
}

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
  const headers = { Accept: 'application/json' };
  const read = (path: string, query = {}): Promise<unknown> =>
    retries.run(() =>
      send(connection, { method: 'GET', path, query, headers }, signal, async (response) =>
        parse(await response.text()),
      ),
    );
  const path = `/${options.feed.name}`;
  const latest = positionOf(await read(`${path}/latest`));
  let { after } = options;
  do {
    const query = { ...queryOf({ ...options, after }), limit: PAGE_SIZE };
    const changes = (await read(path, query)) as readonly unknown[];
    if (changes.length === 0) return;
    after = positionOf(changes.at(-1));
    yield { changes: changes.map((change) => stringify(change)!), position: after };
  } while (after < latest);
}

function followed(
  options: ChangesOptions,
  { connection, retries, signal }: Reading,
): AsyncGenerator<Found, void> {
  let { after } = options;
  return retries.resume(async function* () {
    const query = queryOf({ ...options, after });
    const headers = { Accept: 'text/event-stream' };
    const call = { method: 'GET', path: `/${options.feed.name}`, query, headers } as const;
    const { body } = await send(connection, call, signal, async (response) => response);
    const openedAt = performance.now();
    let failure: unknown = new TemporaryFailure('the stream of changes ended');
    try {
      for await (const { id, type, data } of eventsOf(body!)) {
        after = BigInt(id);
        yield { changes: data !== undefined && type === 'message' ? [data] : [], position: after };
      }
    } catch (error) {
      failure = error;
    }
    // A long silence is a success, too.
    const isUseful = performance.now() - openedAt >= connection.limits.longestPause;
    if (isUseful) yield { changes: [], position: after };
    throw failure as Error;
  });
}

function positionOf(found: unknown): bigint {
  return BigInt(String((found as { readonly position: unknown }).position));
}

function queryOf({ feed: { selection }, after, selected }: ChangesOptions): object {
  return { after, ...(selection && { [selection.name]: selected }) };
}

/** Whether the service rejects the position, so that it would do so again. */
function isPositionRefused(error: unknown): boolean {
  return error instanceof ServiceError && (error.status === 400 || error.status === 410);
}

function isNotRecorded(error: unknown): error is ServiceError {
  return error instanceof ServiceError && error.status === 404;
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
