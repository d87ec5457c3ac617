import { bodyOf, resourcesOf } from '@resource-service/client/document';
import type {
  OpenApiDocument,
  Operation,
  Parameter,
  Resource,
  Schema,
} from '@resource-service/client/document';
import { contentOf } from './exchange.js';
import type { Exchange } from './exchange.js';
import { canonical } from './json.js';
import type { Json } from './json.js';
import type { Row, TestedService } from './tested-service.js';
import { propertiesOf, requiredOf, valueOf } from './values.js';
import { NotApplicable, requireNoFailure } from './violation.js';

/** Other values, for columns that are unique. */
const CREATE_ATTEMPTS = 3;

/** A resource of the document, and how to create its rows. */
export class TestedResource {
  readonly path: string;
  readonly name: string;
  readonly operations: Resource['operations'];
  /** Whether clients choose the id. */
  readonly hasChosenIds: boolean;
  /** Whether a create takes an `Idempotency-Key`. */
  readonly isIdempotent: boolean;
  /** Whether a removed row can be brought back. */
  readonly isRestorable: boolean;
  readonly #new: Schema | undefined;
  #stock: Promise<readonly Row[]> | undefined;

  constructor(
    readonly document: OpenApiDocument,
    readonly resource: Resource,
    private readonly others: ReadonlyMap<string, TestedResource>,
  ) {
    this.name = resource.name;
    this.path = `/${resource.name}`;
    this.operations = resource.operations;
    const { create } = this.operations;
    this.#new = bodyOf(create);
    this.hasChosenIds = 'id' in propertiesOf(document, this.#new);
    this.isIdempotent = hasHeader(create, 'Idempotency-Key');
    this.isRestorable = document.paths[`${this.path}/{id}/restore`]?.post !== undefined;
  }

  /** The names of the properties that the body of an operation can have, without the id. */
  propertiesOf(operation: 'create' | 'replace' | 'patch'): readonly string[] {
    const properties = propertiesOf(this.document, bodyOf(this.operations[operation]));
    return Object.keys(properties).filter((name) => name !== 'id');
  }

  parametersOf(operation: 'list' | 'export'): ReadonlyMap<string, Parameter> {
    const parameters = this.operations[operation]?.parameters ?? [];
    return new Map(parameters.map((each) => [each.name ?? '', each]));
  }

  /** The property of a create that refers to a row of another resource. */
  referenceTo(other: TestedResource): string | undefined {
    return this.propertiesOf('create').find((name) => this.others.get(name) === other);
  }

  /**
   * The body of a create, with the rows that it refers to.
   *
   * @param isWhole also with what is optional
   * @param given values of some properties
   */
  async newContent(service: TestedService, isWhole = true, given: Json = {}): Promise<Json> {
    if (this.#new === undefined) throw new NotApplicable(`the document has no POST ${this.path}`);
    const properties = Object.entries(propertiesOf(this.document, this.#new));
    const required = requiredOf(this.document, this.#new);
    const content: Record<string, unknown> = { ...given };
    for (const [name, schema] of properties) {
      if (name in given) continue;
      const target = this.others.get(name);
      const isRequired = required.includes(name);
      if (target === undefined || target === this) {
        const isReference = target === this;
        if (isRequired || (isWhole && !isReference)) {
          const random = name === 'id' ? service.fresh : service.random;
          content[name] = valueOf(this.document, schema, random);
        }
      } else if (isRequired) content[name] = (await target.create(service)).id;
    }
    return content;
  }

  /** Other values of some properties, whose present values are given. */
  otherContent(service: TestedService, operation: 'replace' | 'patch', content: Json): Json {
    const properties = propertiesOf(this.document, bodyOf(this.operations[operation]));
    const others = Object.entries(properties)
      .filter(([name]) => name !== 'id' && !this.others.has(name))
      .map(([name, schema]) => [name, valueOf(this.document, schema, service.random)] as const)
      .filter(([name, value]) => canonical(value) !== canonical(content[name]));
    if (others.length === 0) throw new NotApplicable(`no property of ${this.path} can be changed`);
    // What refers to other rows stays.
    if (operation === 'patch') return Object.fromEntries([service.random.oneOf(others)]);
    const kept = Object.entries(content).filter(([name]) => name in properties && name !== 'id');
    return Object.fromEntries([...kept, ...others]);
  }

  /** Sends a create. */
  post(service: TestedService, content: Json, key?: string): Promise<Exchange> {
    const headers = this.isIdempotent ? { 'Idempotency-Key': key ?? service.fresh.uuid() } : {};
    return service.send('POST', this.path, { body: content, headers });
  }

  /**
   * Remembers a row that a create has returned.
   *
   * @throws NotApplicable if the service has rejected the create
   */
  added(service: TestedService, content: Json, exchange: Exchange): Row {
    const { status, body } = requireNoFailure(exchange);
    if (status >= 300) throw new NotApplicable(`cannot create ${this.name}: ${status} ${body}`);
    const id = (content['id'] ?? contentOf(exchange)['id']) as bigint | string;
    const path = `${this.path}/${encodeURIComponent(String(id))}`;
    const row = { id, path, content, isRemovable: this.operations.remove !== undefined };
    service.add(row);
    return row;
  }

  async create(service: TestedService, given?: Json): Promise<Row> {
    for (let attempt = 1; ; attempt += 1) {
      const content = await this.newContent(service, attempt < CREATE_ATTEMPTS, given);
      const exchange = await this.post(service, content);
      const isRejected = exchange.status >= 400 && exchange.status < 500;
      if (isRejected && attempt < CREATE_ATTEMPTS) continue;
      return this.added(service, content, exchange);
    }
  }

  async createMany(service: TestedService, count: number, given?: Json): Promise<readonly Row[]> {
    const rows: Row[] = [];
    for (let n = 0; n < count; n += 1) rows.push(await this.create(service, given));
    return rows;
  }

  /** Rows that no check changes. */
  stock(service: TestedService, count: number): Promise<readonly Row[]> {
    this.#stock ??= this.createMany(service, count);
    return this.#stock;
  }
}

export function testedResourcesOf(document: OpenApiDocument): readonly TestedResource[] {
  /** By the name of the property that refers to it, such as `toolId`. */
  const byReference = new Map<string, TestedResource>();
  return resourcesOf(document).map((resource) => {
    const tested = new TestedResource(document, resource, byReference);
    const noun = resource.noun.replace(/^./, (letter) => letter.toLowerCase());
    byReference.set(`${noun}Id`, tested);
    return tested;
  });
}

export function hasHeader(operation: Operation | undefined, name: string): boolean {
  return operation?.parameters?.some((each) => each.name === name) ?? false;
}
