import type { Feed, Resource } from './document.js';
import { camelCase, capital, oneOf, uncapital } from './names.js';
import type { Plan } from './names.js';

/** The parts of a file that are for the resource whose operations are methods of the class itself. */
interface Parts {
  readonly types: string;
  readonly methods: string;
  readonly functions: string;
}

export function mainResource(plan: Plan, { name, noun, schemas }: Resource): Parts {
  const { mainFeed } = plan;
  const isKeyed = plan.idempotentCreates.includes(name);
  const [many, one, aOne] = [camelCase(name), uncapital(noun), oneOf(noun)];
  const feed = mainFeed && feedParts(mainFeed);
  return {
    types: `/** Which ${many} to list. */
export type ListQuery = NonNullable<paths['/${name}']['get']['parameters']['query']>;
/** Which ${many} to export. */
export type ExportQuery = NonNullable<paths['/${name}/export']['get']['parameters']['query']>;

/** ${capital(aOne)} and the entity tag of its content, for \`ifMatch\`. */
export type Tagged${noun} = Tagged<${schemas.stored}>;

export interface Page {
  /** By default in ascending order of their ids. */
  readonly ${many}: readonly ${schemas.stored}[];
  /** Requests the next page. \`undefined\` on the last page. */
  readonly next: (() => Promise<Page>) | undefined;
  /** If the query has \`count: true\`. */
  readonly total?: Total;
}

/** What to import. A stream is closed at the end. */
export type New${capital(many)} = Records<${schemas.new}>;

/** ${capital(aOne)} that the service refused, and why. */
export interface Refused${noun} extends Rejection {
  readonly ${one}: ${schemas.new};
}

/**
 * An import, which runs while you iterate over what is refused or wait for the summary. When you leave the iteration
 * early, the import stops.
 */
export class ${noun}Import implements AsyncIterable<Refused${noun}> {
  readonly #import: ResourceImport<${schemas.new}>;

  /** @internal */
  constructor(running: ResourceImport<${schemas.new}>) {
    this.#import = running;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Refused${noun}, void> {
    for await (const { record, ...rejection } of this.#import) yield { ...rejection, ${one}: record };
  }

  /** Runs the import to its end. Rejections that you have not read are only counted. */
  summary(): Promise<ImportSummary> {
    return this.#import.summary();
  }
}

${feed?.types ?? ''}`,
    methods: `
  /** Creates ${aOne}.${isKeyed ? '' : ' An identical one that is stored already is no error.'} */
  create(${one}: ${schemas.new}, options?: ${isKeyed ? 'CreateOptions' : 'RequestOptions'}): Promise<${schemas.created}> {
    return this.#${many}.create(${one}, options);
  }

  get(id: ${schemas.stored}['id'], options?: RequestOptions): Promise<Tagged${noun}> {
    return this.#${many}.get(id, options);
  }

  /** Requests one page of ${many}. */
  async list(query?: ListQuery & RequestOptions): Promise<Page> {
    return pageOf(await this.#${many}.list(query));
  }

  /** Iterates over all ${many}, page by page. */
  ${many}(query?: ListQuery & RequestOptions): AsyncGenerator<${schemas.stored}, void> {
    return this.#${many}.all(query);
  }

  /** Replaces all properties but the id. The response has no entity tag (RFC 9110, section 9.3.4). */
  replace(
    id: ${schemas.stored}['id'],
    ${one}: ${schemas.replacement},
    options?: ChangeOptions,
  ): Promise<${schemas.stored}> {
    return this.#${many}.replace(id, ${one}, options);
  }

  /** Changes the properties that the patch has. \`null\` removes a property. */
  patch(
    id: ${schemas.stored}['id'],
    patch: ${schemas.patch},
    options?: ChangeOptions,
  ): Promise<Tagged${noun}> {
    return this.#${many}.patch(id, patch, options);
  }

  /** If an attempt got no response, and another one finds nothing to remove, the first one has removed it. */
  remove(id: ${schemas.stored}['id'], options?: ChangeOptions): Promise<void> {
    return this.#${many}.remove(id, options);
  }

  /** Imports ${many} in requests of bounded size, one after the other. */
  import(${many}: New${capital(many)}, options?: RequestOptions): ${noun}Import {
    return new ${noun}Import(this.#${many}.import(${many}, options));
  }

  /**
   * Iterates over all ${many} in ascending order of their ids, in one request. If the response ends early without an
   * error of \`fetch\`, the error is an {@link IncompleteExportError}.
   */
  export(query?: ExportQuery & RequestOptions): AsyncGenerator<${schemas.stored}, void> {
    return this.#${many}.export(query);
  }
${feed?.methods ?? ''}`,
    functions: `
/**
 * Reads JSON with all digits: \`JSON.parse\` rounds ids above 2^53.
 *
 * @param int64 the properties that become \`bigint\`, by default the properties of ${many}. All other numbers become \`number\`
 * @returns what the text says, which is not checked
 * @throws SyntaxError if the text is not JSON, or such a property is not an integer
 */
export function parseJson(
  text: string,
  int64: readonly string[] = INT64_PROPERTIES['${name}'],
): unknown {
  return parse(text, int64);
}

function pageOf({ items, next, ...more }: ResourcePage<${schemas.stored}>): Page {
  return { ...more, ${many}: items, next: next && (async () => pageOf(await next())) };
}
`,
  };
}

function feedParts({ name, schema }: Feed) {
  return {
    types: `/** Which changes to read. */
export type ChangesQuery = NonNullable<paths['/${name}']['get']['parameters']['query']>;
/** Which changes to follow. */
export type FollowQuery = Omit<ChangesQuery, 'limit'>;
`,
    methods: `
  /** Iterates over the recorded changes, the oldest first, page by page, up to the newest. */
  changes(query?: ChangesQuery & RequestOptions): AsyncGenerator<${schema}, void> {
    return this.#${camelCase(name)}.all(query);
  }

  /** The position of the newest change. */
  latestPosition(options?: RequestOptions): Promise<bigint> {
    return this.#${camelCase(name)}.latestPosition(options);
  }

  /**
   * Iterates over the recorded changes and then those that come, each once. It ends only with the signal, when the loop is left, or
   * with an error that a further attempt would not change. It connects again whenever the connection ends.
   */
  followChanges(query?: FollowQuery & RequestOptions): AsyncGenerator<${schema}, void> {
    return this.#${camelCase(name)}.follow(query);
  }
`,
  };
}
