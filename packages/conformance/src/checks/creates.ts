import { check } from '../check.js';
import type { Check } from '../check.js';
import { contentOf } from '../exchange.js';
import type { Exchange } from '../exchange.js';
import { canonical, pick } from '../json.js';
import type { Json } from '../json.js';
import type { TestedResource } from '../tested-resource.js';
import type { TestedService } from '../tested-service.js';
import { NotApplicable, requireNoFailure, verify } from '../violation.js';

const AT_ONCE = 8;

const ROUNDS = 5;

/** The checks of creates: what is sent is stored, once, however often it is sent. */
export function createChecks(resource: TestedResource): readonly Check[] {
  const { name } = resource;
  return [
    check(`creates of ${name}: every value is kept`, async (service) => {
      if (!resource.operations.get) throw new NotApplicable('the document has no look-up');
      for (const { path, content } of await resource.createMany(service, ROUNDS)) {
        const found = requireNoFailure(await service.send('GET', path));
        verify(found.status === 200, `${path} gets ${found.status} after its create`, found);
        verifyContent(content, found);
      }
    }),
    check(`creates of ${name}: a repeated request has its effect once`, async (service) => {
      if (!resource.hasChosenIds && !resource.isIdempotent) {
        throw new NotApplicable('a create has neither an id nor an Idempotency-Key');
      }
      for (let round = 0; round < ROUNDS; round += 1) await replay(service, resource);
    }),
    check(`creates of ${name}: another content does not take its place`, async (service) => {
      if (resource.isIdempotent) await reuseKey(service, resource);
      else if (resource.hasChosenIds) await takeId(service, resource);
      else throw new NotApplicable('a create has neither an id nor an Idempotency-Key');
    }),
  ];
}

/** Sends a create many times at once, and once again. */
async function replay(service: TestedService, resource: TestedResource): Promise<void> {
  await resource.create(service);
  const content = await resource.newContent(service);
  const key = service.fresh.uuid();
  const post = () => resource.post(service, content, key);
  const exchanges = await Promise.all(Array.from({ length: AT_ONCE }, post));
  exchanges.push(await post());
  const first = exchanges.find(({ status }) => status < 300) ?? exchanges[0]!;
  resource.added(service, content, first);
  for (const each of exchanges) {
    if (each.status < 300) resource.added(service, content, each);
    const isAlike = each.status === first.status && each.body === first.body;
    verify(isAlike, 'a repeated create has another response', first, each);
  }
}

async function reuseKey(service: TestedService, resource: TestedResource): Promise<void> {
  const key = service.fresh.uuid();
  const content = await resource.newContent(service);
  resource.added(service, content, await resource.post(service, content, key));
  const other = await resource.post(service, await resource.newContent(service), key);
  if (other.status < 300) resource.added(service, {}, other);
  verify(other.status === 422, `another content with the key gets ${other.status}`, other);
}

/** Different contents for one id at once: one of them wins, and stays. */
async function takeId(service: TestedService, resource: TestedResource): Promise<void> {
  for (let round = 0; round < ROUNDS; round += 1) {
    const { id } = await resource.newContent(service);
    const contents: Json[] = [];
    for (let n = 0; n < AT_ONCE; n += 1) {
      contents.push({ ...(await resource.newContent(service)), id });
    }
    const exchanges = await Promise.all(contents.map((each) => resource.post(service, each)));
    const winners = contents.filter((_, n) => exchanges[n]!.status < 300);
    for (const each of exchanges) requireNoFailure(each);
    const [winner = {}] = winners;
    if (winners.length === 0) exchanges.push(await createAlone(service, resource, contents));
    const won = exchanges.find(({ status }) => status < 300) ?? exchanges[0]!;
    verify(winners.length === 1, `${winners.length} creates of one id succeed`, ...exchanges);
    const { path } = resource.added(service, winner, won);
    const again = await resource.post(
      service,
      contents.find((each) => each !== winner)!,
    );
    verify(again.status >= 400, 'the id is given to another content', won, again);
    if (resource.operations.get) verifyContent(winner, await service.send('GET', path));
  }
}

/**
 * Sends the creates one after the other, until one succeeds.
 *
 * @throws NotApplicable if the service rejects each, such as because of a value that must be unique
 */
async function createAlone(
  service: TestedService,
  resource: TestedResource,
  contents: readonly Json[],
): Promise<Exchange> {
  for (const content of contents) {
    const exchange = await resource.post(service, content);
    if (exchange.status >= 300) continue;
    resource.added(service, content, exchange);
    return exchange;
  }
  throw new NotApplicable(`no content that is made up creates ${resource.name}`);
}

/** @throws Violation unless the response has all values */
export function verifyContent(content: Json, exchange: Exchange): void {
  const names = Object.keys(content);
  const found = pick(contentOf(exchange), names);
  const wrong = names.find((name) => canonical(found[name]) !== canonical(content[name]));
  verify(wrong === undefined, `${wrong} is not what was sent: ${canonical(content)}`, exchange);
}
