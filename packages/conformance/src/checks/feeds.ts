import { feedsOf, int64In } from '@resource-service/client/document';
import type { OpenApiDocument } from '@resource-service/client/document';
import { Feed } from '@resource-service/client/runtime';
import { setTimeout as sleep } from 'node:timers/promises';
import { check, forEach } from '../check.js';
import type { Check } from '../check.js';
import { contentOf } from '../exchange.js';
import type { Exchange } from '../exchange.js';
import { canonical, isObject, pick } from '../json.js';
import type { Json } from '../json.js';
import type { TestedResource } from '../tested-resource.js';
import type { TestedService } from '../tested-service.js';
import { propertiesOf } from '../values.js';
import { NotApplicable, requireNoFailure, verify } from '../violation.js';

const ROWS = 16;

/** In milliseconds. Changes arrive within a second, and after a start within some. */
const PATIENCE = 20_000;

interface Change extends Json {
  readonly position: bigint;
  readonly id: bigint | string;
  readonly kind: string;
}

interface FeedOfResource {
  readonly name: string;
  readonly schema: string;
  /** The property that has the row after the change. */
  readonly property: string;
}

/** The feed of the changes of a resource, if the document has one. */
export function feedOf(
  document: OpenApiDocument,
  { resource }: TestedResource,
): FeedOfResource | undefined {
  for (const { name, schema } of feedsOf(document)) {
    const { [schema]: record } = document.components.schemas;
    const stored = canonical(document.components.schemas[resource.schemas.stored]);
    const [property] =
      Object.entries(propertiesOf(document, record)).find(([, each]) => {
        const reference = each.$ref ?? each.allOf?.[0]?.$ref;
        const target = document.components.schemas[reference?.split('/').at(-1) ?? ''];
        return target !== undefined && canonical(target) === stored;
      }) ?? [];
    if (property !== undefined) return { name, schema, property };
  }
  return undefined;
}

/** Follows a feed, as the client of the service does. */
export class Follower {
  readonly changes: Change[] = [];
  readonly #stop = new AbortController();
  readonly #signal: AbortSignal;
  #end: Promise<unknown> = Promise.resolve();

  private constructor(
    private readonly feed: Feed<{ change: Change; query: { after?: bigint } }>,
    private readonly after: bigint,
    signal: AbortSignal,
  ) {
    this.#signal = AbortSignal.any([this.#stop.signal, signal]);
  }

  /** Begins after the newest change. */
  static async start(service: TestedService, { name, schema }: FeedOfResource): Promise<Follower> {
    const int64 = int64In(service.document, { $ref: `#/components/schemas/${schema}` });
    const feed = new Feed<{ change: Change; query: { after?: bigint } }>(
      name,
      int64,
      service.clientOptions,
    );
    const follower = new Follower(feed, await feed.latestPosition(), service.signal);
    follower.#end = follower.#follow().catch((error: unknown) => error);
    return follower;
  }

  async #follow(): Promise<void> {
    const signal = this.#signal;
    for await (const change of this.feed.follow({ after: this.after, signal })) {
      this.changes.push(change);
    }
  }

  /** The changes of a row so far. */
  of(id: bigint | string): readonly Change[] {
    return this.changes.filter((change) => String(change.id) === String(id));
  }

  /** Waits until it has seen what is wanted, or long enough. */
  async until(isDone: () => boolean): Promise<void> {
    const end = performance.now() + PATIENCE;
    while (!isDone() && performance.now() < end) await sleep(50);
  }

  /** Ends, and compares the stream with the pages. */
  async stop(): Promise<void> {
    this.#stop.abort();
    const error = await this.#end;
    const isStopped = error === undefined || error === this.#stop.signal.reason;
    verify(isStopped, `the stream of changes has ended: ${String(error)}`);
    const positions = this.changes.map(({ position }) => position);
    const back = positions.findIndex((position, n) => n > 0 && position <= positions[n - 1]!);
    verify(back === -1, `position ${positions[back]} comes after ${positions[back - 1]}`);
    const last = positions.at(-1) ?? this.after;
    const paged: bigint[] = [];
    for await (const { position } of this.feed.all({ after: this.after })) {
      if (position <= last) paged.push(position);
    }
    const missing = paged.find((position) => !positions.includes(position));
    verify(missing === undefined, `the stream lacks position ${missing}, which the pages have`);
    const added = positions.find((position) => !paged.includes(position));
    verify(added === undefined, `the pages lack position ${added}, which the stream has`);
  }
}

/** The check that a feed has each change of each row, once and in order. */
export function feedChecks(resource: TestedResource): readonly Check[] {
  const feed = feedOf(resource.document, resource);
  if (feed === undefined) return [];
  return [
    check(`feed ${feed.name}: each change once, in order`, async (service) => {
      const follower = await Follower.start(service, feed);
      const rows = new Map<bigint | string, readonly Json[]>();
      const numbers = Array.from({ length: ROWS }, (_, n) => n);
      await forEach(numbers, async () => {
        const [id, contents] = await live(service, resource);
        rows.set(id, contents);
      });
      const isDone = () => [...rows].every(([id, { length }]) => follower.of(id).length >= length);
      await follower.until(isDone);
      for (const [id, contents] of rows) {
        const changes = follower.of(id);
        const seen = changes.map((change) => contentIn(change, feed.property, contents[0]!));
        const isEqual = canonical(seen) === canonical(contents);
        const expected = contents.map((content) => canonical(content)).join(', ');
        verify(isEqual, `the changes of ${id} are ${canonical(changes)}, not ${expected}`);
      }
      await follower.stop();
    }),
  ];
}

/** Creates, changes, removes and restores a row. Returns its contents, an empty one for the removal. */
async function live(
  service: TestedService,
  resource: TestedResource,
): Promise<readonly [id: bigint | string, contents: readonly Json[]]> {
  const { patch, remove } = resource.operations;
  const content = await resource.newContent(service);
  const created = await resource.post(service, content);
  const { id, path } = resource.added(service, content, created);
  const names = Object.keys(contentOf(created)).filter((name) => name !== 'id');
  const contents = [pick(contentOf(created), names)];
  const add = (exchange: Exchange) => {
    const { status, body } = requireNoFailure(exchange);
    if (status >= 300) throw new NotApplicable(`cannot change ${path}: ${status} ${body}`);
    contents.push(pick(contentOf(exchange), names));
  };
  for (let n = 0; n < (patch ? 2 : 0); n += 1) {
    const body = resource.otherContent(service, 'patch', contents.at(-1)!);
    add(await service.send('PATCH', path, { body }));
  }
  if (remove) add(await service.send('DELETE', path));
  if (remove && resource.isRestorable) add(await service.send('POST', `${path}/restore`));
  return [id, contents];
}

function contentIn(change: Change, property: string, first: Json): Json {
  const { [property]: content } = change;
  return isObject(content) ? pick(content, Object.keys(first)) : pick({}, Object.keys(first));
}
