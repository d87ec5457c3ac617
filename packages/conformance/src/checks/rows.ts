import { check, forEach } from '../check.js';
import type { Check } from '../check.js';
import { contentOf, NoResponse } from '../exchange.js';
import type { Exchange } from '../exchange.js';
import { pick } from '../json.js';
import type { Json } from '../json.js';
import { explain } from '../linearizability.js';
import type { RowOperation } from '../linearizability.js';
import { hasHeader } from '../tested-resource.js';
import type { TestedResource } from '../tested-resource.js';
import type { TestedService } from '../tested-service.js';
import { NotApplicable, Violation, verify } from '../violation.js';

const ROWS = 3;

const CLIENTS = 6;

/** Of each client. */
const OPERATIONS = 40;

/** How often all clients patch a row at once: a service that reads a row, and then writes it whole, loses an update. */
const BURSTS = 10;

type Kind = RowOperation['kind'];

const METHODS = {
  get: 'GET',
  replace: 'PUT',
  patch: 'PATCH',
  remove: 'DELETE',
  restore: 'POST',
} as const;

/** How often clients do what. */
const WISHES: readonly Kind[] = [
  'create',
  'create',
  'get',
  'get',
  'patch',
  'patch',
  'replace',
  'remove',
];

const WISHES_OF_RESTORABLE: readonly Kind[] = [...WISHES, 'restore', 'restore'];

/** The check that each row behaves as if its requests came one after the other. */
export function rowChecks(resource: TestedResource): readonly Check[] {
  const { get, patch, replace, remove } = resource.operations;
  return [
    check(`rows of ${resource.name}: linearizable`, async (service) => {
      if (!get || !(patch ?? replace ?? remove)) {
        throw new NotApplicable('the document has no look-up, or no change');
      }
      const rows: TestedRow[] = [];
      for (let n = 0; n < ROWS; n += 1) rows.push(await TestedRow.create(service, resource));
      const clients = Array.from({ length: CLIENTS }, (_, client) => client);
      await forEach(clients, async () => {
        for (let n = 0; n < OPERATIONS; n += 1) await service.random.oneOf(rows).act();
      });
      if (patch) {
        // The others may be removed by now.
        const row = await TestedRow.create(service, resource);
        for (let n = 0; n < BURSTS; n += 1) await forEach(clients, () => row.perform('patch'));
        rows.push(row);
      }
      for (const row of rows) await row.perform('get');
      // The document does not say whether a removal frees the id, unless there is a restore.
      const [wrong, ...others] = (resource.isRestorable ? [true] : [false, true]).map((keepsId) =>
        wrongWith(rows, keepsId),
      );
      const isExplained = others.includes(undefined);
      verify(wrong === undefined || isExplained, wrong ?? '');
    }),
  ];
}

/** What no order of the requests explains. */
function wrongWith(rows: readonly TestedRow[], keepsId: boolean): string | undefined {
  for (const { path, history } of rows) {
    const wrong = explain(history, keepsId);
    if (wrong !== undefined) return `${path}: ${wrong}`;
  }
  return undefined;
}

class TestedRow {
  readonly history: RowOperation[] = [];
  #tag: string | undefined;

  private constructor(
    private readonly service: TestedService,
    private readonly resource: TestedResource,
    readonly path: string,
    /** What it is created with. */
    private readonly contents: readonly Json[],
    /** Of the properties that are compared. */
    private readonly names: readonly string[],
  ) {}

  static async create(service: TestedService, resource: TestedResource): Promise<TestedRow> {
    const { patch, replace } = resource.operations;
    const begin = performance.now();
    const { id, path, content } = await resource.create(service);
    const other = resource.hasChosenIds ? { ...(await resource.newContent(service)), id } : content;
    const changed = [
      ...(patch ? [resource.propertiesOf('patch')] : []),
      ...(replace ? [resource.propertiesOf('replace')] : []),
    ];
    const names = resource
      .propertiesOf('create')
      .filter((name) => changed.every((all) => all.includes(name)));
    const row = new TestedRow(service, resource, path, [content, other], names);
    const body = pick(content, names);
    row.history.push({ kind: 'create', body, begin, end: performance.now(), outcome: 'done' });
    return row;
  }

  /** Sends a request that the resource has. */
  async act(): Promise<void> {
    const { operations, hasChosenIds, isRestorable } = this.resource;
    const { random } = this.service;
    const kind = random.oneOf(isRestorable ? WISHES_OF_RESTORABLE : WISHES);
    // Without a way to come back, a row should not vanish at once.
    const canReturn = hasChosenIds || isRestorable;
    const isTooEarly = kind === 'remove' && !canReturn && random.next() < 0.95;
    const isPossible =
      kind === 'create' ? hasChosenIds : kind === 'restore' || operations[kind] !== undefined;
    await this.perform(isPossible && !isTooEarly ? kind : 'get');
  }

  async perform(kind: Kind): Promise<void> {
    const { service, names } = this;
    const body = this.#bodyOf(kind);
    const isChange = kind === 'replace' || kind === 'patch' || kind === 'remove';
    const isConditional = isChange && hasHeader(this.resource.operations[kind], 'If-Match');
    const ifMatch = isConditional && service.random.next() < 0.4 ? this.#tag : undefined;
    const begin = performance.now();
    const wish = { kind, begin, ifMatch, ...(body && { body: comparedOf(kind, body, names) }) };
    let exchange: Exchange;
    try {
      exchange = await this.#send(kind, body, ifMatch);
    } catch (error) {
      if (!(error instanceof NoResponse)) throw error;
      if (kind !== 'get') this.history.push(wish);
      return;
    }
    const end = performance.now();
    const { status, headers } = exchange;
    if (status === 503) {
      if (kind !== 'get') this.history.push(wish);
      return;
    }
    if (status >= 500) throw new Violation(`${kind} of ${this.path} gets ${status}`, exchange);
    const outcome = outcomeOf(status);
    // A constraint of the service, which has nothing to do with other requests.
    if (outcome === 'conflict' && kind !== 'create') return;
    const isWhole = outcome === 'done' && kind !== 'remove' && kind !== 'create';
    const stored = contentOf(exchange);
    // The tag is also of properties that are not compared, such as the time of the change.
    const isTagged = Object.keys(stored).every((name) => name === 'id' || names.includes(name));
    const etag = isWhole && isTagged ? headers['etag'] : undefined;
    this.#tag = etag ?? this.#tag;
    const read = isWhole ? { content: pick(stored, names), etag } : {};
    this.history.push({ ...wish, end, outcome, ...read });
  }

  #bodyOf(kind: Kind): Json | undefined {
    const { resource, service, contents } = this;
    if (kind === 'create') return service.random.oneOf(contents);
    if (kind !== 'replace' && kind !== 'patch') return undefined;
    return resource.otherContent(service, kind, contents[0]!);
  }

  #send(kind: Kind, body: Json | undefined, ifMatch: string | undefined): Promise<Exchange> {
    if (kind === 'create') return this.resource.post(this.service, body!);
    const headers = ifMatch === undefined ? {} : { 'If-Match': ifMatch };
    const path = kind === 'restore' ? `${this.path}/restore` : this.path;
    return this.service.send(METHODS[kind], path, { headers, ...(body && { body }) });
  }
}

/** A patch has only some of the properties, and one that is absent stays. */
function comparedOf(kind: Kind, body: Json, names: readonly string[]): Json {
  const given = kind === 'patch' ? names.filter((name) => name in body) : names;
  return pick(body, given);
}

function outcomeOf(status: number): NonNullable<RowOperation['outcome']> {
  if (status < 300) return 'done';
  if (status === 404) return 'missing';
  return status === 412 ? 'stale' : 'conflict';
}
