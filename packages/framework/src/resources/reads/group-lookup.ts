import { Batcher } from '../../database/batcher.js';
import { STORED_TYPES } from '../../database/connections/value-types.js';
import type { Semaphore } from '../../database/semaphore.js';
import { prepared, uncounted } from '../../database/statements.js';
import type { Shared } from '../locks/shared.js';
import type { IdError } from '../properties/entity-columns.js';
import type { ActorOption } from '../recording/actor.js';
import { storedKey } from '../properties/key-type.js';
import type { Key, Keyed } from '../properties/key-type.js';
import type { Visibility } from './visibility.js';

export const MAX_ROWS = 32;

/** The limit of a row in a group, whose rows are all in memory at once. */
export const MAX_BYTES = (4 * 1024 * 1024) / MAX_ROWS;

interface GroupLookupOptions<Id extends Key> extends Pick<
  Shared,
  'columns' | 'statements' | 'tracer'
> {
  /** For long rows, which are read alone. */
  readonly slots: Semaphore;
  readonly notFound: IdError<Id>;
  readonly visibility: Visibility;
}

type Found = readonly unknown[];

type Prepared = ReturnType<typeof prepared>;

/** Looks up the rows of many requests in one statement. */
export class GroupLookup<Entity extends Keyed> {
  private readonly batcher: Batcher<Key, Found | 'long' | undefined>;
  private many: Prepared | undefined;
  private one: Prepared | undefined;
  private whole: Prepared | undefined;

  constructor(private readonly options: GroupLookupOptions<Entity['id']>) {
    this.batcher = new Batcher({
      lengthOf: () => 0,
      maxRows: MAX_ROWS,
      perform: (ids) => this.perform(ids),
      tracer: options.tracer,
      limits: options.statements.limits,
    });
  }

  /** @throws ServiceException `notFound`, `too-many-answers`, or any error of the database */
  async find(id: Entity['id'], context?: ActorOption): Promise<Entity> {
    const { columns, slots, notFound, visibility } = this.options;
    const key = storedKey(id);
    const found = await this.batcher.add(key);
    const row = found === 'long' ? await slots.run(() => this.findAlone(key)) : found;
    if (row === undefined) throw notFound(id);
    const entity = columns().entityOf(row) as Entity;
    if (visibility.isLimited && !visibility.has(entity, context)) throw notFound(id);
    return entity;
  }

  private async perform(ids: readonly Key[]): Promise<readonly (Found | 'long' | undefined)[]> {
    if (ids.length === 1) {
      this.one ??= this.lookup('= $1', MAX_BYTES);
      const [row] = await this.read(this.one, String(ids[0]));
      return [row && foundIn(row)];
    }
    this.many ??= this.lookup(`= ANY (${this.array})`, MAX_BYTES);
    const rows = await this.read(this.many, [...new Set(ids)].map(String));
    const found = new Map<string, Found | 'long'>();
    for (const row of rows) found.set(String(row[0]), foundIn(row));
    return ids.map((id) => found.get(String(id)));
  }

  private async findAlone(id: Key): Promise<Found | undefined> {
    this.whole ??= this.lookup('= $1');
    const [row] = await this.read(this.whole, String(id));
    return row?.slice(2);
  }

  private read({ name, text }: Prepared, ids: string | readonly string[]) {
    return this.options.statements.rows<Found>({ name, text, values: [ids], types: STORED_TYPES });
  }

  private get array(): string {
    const { columns, statements } = this.options;
    const { type } = columns().key;
    // Citus finds the shards by the plain array only.
    return statements.isDistributed ? `$1::${type}[]` : `${uncounted('$1', type)}::${type}[]`;
  }

  private lookup(condition: string, maxBytes?: number): Prepared {
    const columns = this.options.columns();
    const { table, key, all, notRemoved } = columns;
    const conditions = [`${key.name} ${condition}`, ...notRemoved].join(' AND ');
    return prepared(
      `SELECT ${key.name}, ${columns.list(all, maxBytes)} FROM ${table} WHERE ${conditions}`,
    );
  }
}

/** @param row begins with the key, and whether it is long */
function foundIn(row: Found): Found | 'long' {
  return row[1] === true ? 'long' : row.slice(2);
}
