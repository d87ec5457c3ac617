import { parse, stringify } from 'lossless-json';
import { eventsOf, ServiceError } from '@resource-service/client/runtime';
import {
  ContactError,
  EXIT,
  isBrokenPipe,
  reasonOf,
  TemporaryError,
  textOf,
} from './command-error.js';
import type { Connection } from './connection/connection.js';
import { Requests } from './connection/requests.js';
import { choiceOf } from './help.js';
import { optionOf } from './options.js';
import type { Feed } from './resources.js';
import type { Service } from './service.js';
import { write } from './terminal.js';
import type { Terminal } from './terminal.js';

const PAGE_SIZE = 1_000;

export interface ChangesOptions {
  readonly feed: Feed;
  readonly after?: bigint | undefined;
  readonly acceptGap?: bigint | undefined;
  /** The id of the only record whose changes are wanted. */
  readonly selected: string | undefined;
  readonly follow?: true;
}

interface Found {
  /** Changes, each in a line. */
  readonly text: string;
  /** The position up to which these are all. */
  readonly position: bigint | undefined;
}

export async function writeChanges(
  options: ChangesOptions,
  connection: Connection,
  { stdout, stderr }: Terminal,
  signal: AbortSignal,
): Promise<number> {
  // `write` tells.
  stdout.on('error', () => {});
  const requests = new Requests(connection, signal, (message) => stderr.write(`${message}\n`));
  let { after } = options;
  let written = after;
  try {
    for await (const { text, position } of options.follow
      ? followed(options, requests, connection.limits.longestPause)
      : listed(options, requests)) {
      signal.throwIfAborted();
      after = position;
      await write(stdout, text, signal);
      written = position;
    }
  } catch (error) {
    const status = error instanceof ServiceError ? error.status : undefined;
    // What an interrupted command has handed to its output is still written.
    const last = signal.aborted ? after : written;
    // The service would reject the position again.
    const isRejected = status === 400 || status === 410;
    if (last !== undefined && !isRejected && !isBrokenPipe(error)) {
      stderr.write(`to continue: ${commandOf({ ...options, after: last }, connection.service)}\n`);
    }
    if (status !== 404) throw error;
    const reason = textOf(reasonOf(error as ServiceError));
    throw new ContactError(`${reason}: this service records no changes (CHANGES_ENABLED)`);
  }
  return EXIT.done;
}

/** Reads pages up to the change that is the newest now. What comes meanwhile could go on forever. */
async function* listed(options: ChangesOptions, requests: Requests): AsyncGenerator<Found, void> {
  const headers = { Accept: 'application/json' };
  const read = (path: string, query = {}): Promise<unknown> =>
    requests.send({ method: 'GET', path, query, headers }, async (response) =>
      parse(await response.text()),
    );
  const path = `/${options.feed.name}`;
  const latest = positionOf(await read(`${path}/latest`));
  let { after } = options;
  do {
    const query = { ...queryOf({ ...options, after }), limit: PAGE_SIZE };
    const changes = (await read(path, query)) as readonly unknown[];
    if (changes.length === 0) return;
    after = positionOf(changes.at(-1));
    yield { text: changes.map((change) => `${stringify(change)}\n`).join(''), position: after };
  } while (after < latest);
}

function followed(
  options: ChangesOptions,
  requests: Requests,
  longestPause: number,
): AsyncGenerator<Found, void> {
  let { after } = options;
  return requests.resume(async function* () {
    const query = queryOf({ ...options, after });
    const headers = { Accept: 'text/event-stream' };
    const call = { method: 'GET', path: `/${options.feed.name}`, query, headers } as const;
    const { body } = await requests.once(call, async (response) => response);
    const openedAt = performance.now();
    let thrown: unknown = new TemporaryError('the stream of changes ended');
    try {
      for await (const { id, type, data } of eventsOf(body!)) {
        after = BigInt(id);
        const isChange = data !== undefined && type === 'message';
        yield { text: isChange ? `${data}\n` : '', position: after };
      }
    } catch (error) {
      thrown = error;
    }
    // A long silence is a success, too.
    if (performance.now() - openedAt >= longestPause) yield { text: '', position: after };
    throw thrown as Error;
  });
}

function positionOf(found: unknown): bigint {
  return BigInt(String((found as { readonly position: unknown }).position));
}

function queryOf({ feed: { selection }, after, acceptGap, selected }: ChangesOptions): object {
  return { after, ...(selection && { [selection.name]: selected }), acceptGap };
}

function commandOf(
  { feed, after, acceptGap, selected, follow }: ChangesOptions,
  { identity, feeds }: Service,
): string {
  const choice = choiceOf(feed.name, '--feed', feeds[0]);
  const mode = follow ? ' --follow' : '';
  const selection =
    feed.selection && selected !== undefined
      ? ` --${optionOf(feed.selection.name)} ${selected}`
      : '';
  const gap = acceptGap === undefined ? '' : ` --accept-gap ${acceptGap}`;
  return `${identity.name} changes${choice}${mode} --after ${after}${selection}${gap}`;
}
