import { setTimeout as sleep } from 'node:timers/promises';
import { check, forEach } from '../check.js';
import type { Check } from '../check.js';
import { NoResponse } from '../exchange.js';
import type { Exchange } from '../exchange.js';
import { canonical } from '../json.js';
import type { Json } from '../json.js';
import type { TestedResource } from '../tested-resource.js';
import type { Row, TestedService } from '../tested-service.js';
import { NotApplicable, verify } from '../violation.js';
import { verifyContent } from './creates.js';
import { feedOf, Follower } from './feeds.js';
import { pagesOf } from './lists.js';

const KILLS = 3;

/** For each kill. */
const CREATES = 60;

/** Creates that have a response before a kill. */
const BEFORE_KILL = 15;

interface Create {
  readonly content: Json;
  readonly key: string;
  readonly exchanges: Exchange[];
}

/** The check that kills of the service lose nothing and double nothing. */
export function killChecks(resource: TestedResource): readonly Check[] {
  const { name } = resource;
  return [
    check(
      `kill -9 during creates of ${name}: each request has its effect once`,
      async (service) => {
        const { process } = service;
        if (!process) throw new NotApplicable('there is no command that starts the service');
        if (!resource.hasChosenIds && !resource.isIdempotent) {
          throw new NotApplicable('a create has neither an id nor an Idempotency-Key');
        }
        await resource.create(service);
        const feed = feedOf(resource.document, resource);
        const follower = feed && (await Follower.start(service, feed));
        const creates: Create[] = [];
        for (let kill = 0; kill < KILLS; kill += 1) {
          const some = await newCreates(service, resource);
          creates.push(...some);
          await killDuring(service, resource, some, kill);
          await process.start();
        }
        const rows: Row[] = [];
        await forEach(creates, async (create) => {
          await send(service, resource, create);
          rows.push(await verifyCreate(service, resource, create));
        });
        const ids = new Set(rows.map(({ id }) => String(id)));
        verify(ids.size === creates.length, `${creates.length} creates have ${ids.size} ids`);
        if (resource.operations.list) await verifyOnce(service, resource, creates);
        if (!follower) return;
        await follower.until(() => rows.every(({ id }) => follower.of(id).length > 0));
        for (const { id, path } of rows) {
          const changes = follower.of(id);
          verify(
            changes.length === 1,
            `the feed has ${canonical(changes)} for the create of ${path}`,
          );
        }
        await follower.stop();
      },
    ),
  ];
}

async function newCreates(
  service: TestedService,
  resource: TestedResource,
): Promise<readonly Create[]> {
  const creates: Create[] = [];
  for (let n = 0; n < CREATES; n += 1) {
    const content = await resource.newContent(service);
    creates.push({ content, key: service.fresh.uuid(), exchanges: [] });
  }
  return creates;
}

/** Kills the service at a random moment, not always right after a response. */
async function killDuring(
  service: TestedService,
  resource: TestedResource,
  creates: readonly Create[],
  delay: number,
): Promise<void> {
  let isKilled = false;
  let responses = 0;
  await forEach(creates, async (create) => {
    if (isKilled) return;
    const exchange = await send(service, resource, create);
    if (exchange === undefined) return;
    responses += 1;
    if (responses !== BEFORE_KILL) return;
    await sleep(delay);
    isKilled = true;
    await service.process?.kill();
  });
}

/** @returns `undefined` if there is no response */
async function send(
  service: TestedService,
  resource: TestedResource,
  { content, key, exchanges }: Create,
): Promise<Exchange | undefined> {
  try {
    const exchange = await resource.post(service, content, key);
    if (exchange.status < 300) resource.added(service, content, exchange);
    if (exchange.status !== 503) exchanges.push(exchange);
    return exchange;
  } catch (error) {
    if (error instanceof NoResponse) return undefined;
    throw error;
  }
}

async function verifyCreate(
  service: TestedService,
  resource: TestedResource,
  { content, exchanges }: Create,
): Promise<Row> {
  const [first] = exchanges;
  const last = exchanges.at(-1);
  verify(first !== undefined && last !== undefined, 'a create has no response');
  const row = resource.added(service, content, last);
  const isAlike = canonical(first.body) === canonical(last.body);
  verify(isAlike, 'a create that is repeated after a kill has another response', first, last);
  if (!resource.operations.get) return row;
  const found = await service.send('GET', row.path);
  verify(found.status === 200, `${row.path} gets ${found.status} after the kill`, last, found);
  verifyContent(content, found);
  return row;
}

/** No create has stored a second row. */
async function verifyOnce(
  service: TestedService,
  resource: TestedResource,
  creates: readonly Create[],
): Promise<void> {
  const items = await pagesOf(service, resource.path, { limit: '1000' });
  for (const { content } of creates) {
    const entries = Object.entries(content);
    const rows = items.filter((item) =>
      entries.every(([name, value]) => canonical(item[name]) === canonical(value)),
    );
    verify(rows.length === 1, `${rows.length} rows have the content ${canonical(content)}`);
  }
}
