import { Batcher } from '../../database/batcher.js';
import { STORED_TYPES } from '../../database/connections/value-types.js';
import type { Semaphore } from '../../database/semaphore.js';
import { prepared, uncounted } from '../../database/statements.js';
import type { Shared } from '../locks/shared.js';
import type { IdError } from '../properties/entity-columns.js';
import type { ActorOption } from '../recording/actor.js';
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

/** Looks up the rows of many requests in one statement. */
export class GroupLookup<Entity extends Keyed> {
  private readonly batcher: Batcher<Key, Found | 'long' | undefined>;
  private short: ReturnType<typeof prepared> | undefined;
  private whole: ReturnType<typeof prepared> | undefined;

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
    const found = await this.batcher.add(id);
    const row = found === 'long' ? await slots.run(() => this.findAlone(id)) : found;
    if (row === undefined) throw notFound(id);
    const entity = columns().entityOf(row) as Entity;
    if (visibility.isLimited && !visibility.has(entity, context)) throw notFound(id);
    return entity;
  }

  private async perform(ids: readonly Key[]): Promise<readonly (Found | 'long' | undefined)[]> {
    this.short ??= this.lookup(MAX_BYTES);
    const rows = await this.read(this.short, [...new Set(ids)]);
    const found = new Map<string, Found | 'long'>();
    for (const [id, isLong, ...row] of rows) found.set(String(id), isLong === true ? 'long' : row);
    return ids.map((id) => found.get(String(id)));
  }

  private async findAlone(id: Key): Promise<Found | undefined> {
    this.whole ??= this.lookup();
    const [found] = await this.read(this.whole, [id]);
    return found?.slice(2);
  }

  private read(statement: ReturnType<typeof prepared>, ids: readonly Key[]) {
    return this.options.statements.rows<Found>({
      ...statement,
      values: [ids.map(String)],
      types: STORED_TYPES,
    });
  }

  private lookup(maxBytes?: number) {
    const columns = this.options.columns();
    const { table, key, all, notRemoved } = columns;
    // Citus finds the shards by the plain array only.
    const ids = this.options.statements.isDistributed
      ? `$1::${key.type}[]`
      : `${uncounted('$1', key.type)}::${key.type}[]`;
    const conditions = [`${key.name} = ANY (${ids})`, ...notRemoved].join(' AND ');
    return prepared(
      `SELECT ${key.name}, ${columns.list(all, maxBytes)} FROM ${table} WHERE ${conditions}`,
    );
  }
}
