import type { Type } from '@nestjs/common';
import { InsufficientScopeError } from '../../auth/credentials.error.js';
import { hasScope } from '../../auth/principal.js';
import { STORED_TYPES } from '../../database/connections/value-types.js';
import type { Statement } from '../../database/statements.js';
import type { Shared } from '../locks/shared.js';
import type { EntityColumn } from '../properties/entity-column.js';
import { rowToJson } from '../properties/entity-columns.js';
import type { EntityColumns } from '../properties/entity-columns.js';
import { actorOf } from '../recording/actor.js';
import type { ActorOption } from '../recording/actor.js';
import type { Expansion, Expansions } from './expansion.js';
import type { BindParameter, PageQuery } from './page-query.js';
import type { Visibility } from './visibility.js';

type Row = readonly unknown[];

/** What the expansions of other resources need of a resource. */
export interface RelatedResource {
  readonly columns: () => EntityColumns;
  readonly visibility: Visibility;
}

interface ExpanderOptions extends Pick<Shared, 'statements' | 'bulkheads'> {
  readonly expansions: Expansions;
  /** The resource with this `dto`. */
  readonly resourceOf: (dto: Type) => RelatedResource;
}

/** An expansion of a request that is permitted. */
interface Wanted {
  readonly name: string;
  readonly expansion: Expansion;
  readonly context: ActorOption;
}

/** Puts the related rows into an item in JSON; `undefined` if they exceed the limit of the page. */
export type JoinRelated = (item: string, row: Row) => string | undefined;

export class Expander {
  constructor(private readonly options: ExpanderOptions) {}

  /** @throws InsufficientScopeError */
  permitted(names: readonly string[], context: ActorOption = {}): readonly Wanted[] {
    const actor = actorOf(context);
    if (actor === undefined) throw new TypeError('expand needs the actor: @RequestActor()');
    return names.map((name) => {
      const expansion = this.options.expansions[name];
      if (expansion === undefined) throw new TypeError(`the repository has no expansion ${name}`);
      const { scopes } = expansion;
      if (scopes.some((scope) => hasScope(actor.principal, scope)))
        return { name, expansion, context };
      throw new InsufficientScopeError(scopes);
    });
  }

  /**
   * Reads the related rows of a page, with a statement for each name.
   *
   * @param columns of the rows, which begin after their first value
   */
  async read(
    wanted: readonly Wanted[],
    columns: readonly EntityColumn[],
    rows: readonly Row[],
    { maxBytes }: Pick<PageQuery, 'maxBytes'>,
  ): Promise<JoinRelated> {
    const found: { readonly at: number; readonly start: string; readonly items: RelatedItems }[] =
      [];
    for (const { name, expansion, context } of wanted) {
      const at = 1 + columns.findIndex(({ property }) => property === expansion.property);
      const ids = [...new Set(rows.flatMap((row) => (row[at] as string | null) ?? []))];
      const items = ids.length === 0 ? NONE : await this.find(expansion, ids, maxBytes, context);
      found.push({ at, start: `,${JSON.stringify(name)}:`, items });
    }
    return (item, row) => {
      let joined = item.slice(0, -1);
      for (const { at, start, items } of found) {
        const related = items.get(row[at]);
        if (related === null) return undefined;
        if (related !== undefined) joined += start + related;
      }
      return `${joined}}`;
    };
  }

  private async find(
    { dto }: Expansion,
    ids: readonly string[],
    maxBytes: number,
    context: ActorOption,
  ): Promise<RelatedItems> {
    const { resourceOf, bulkheads, statements } = this.options;
    const { columns: columnsOf, visibility } = resourceOf(dto());
    const table = columnsOf();
    const columns = table.of(dto());
    const key = 1 + columns.indexOf(table.key);
    const values: unknown[] = [ids];
    const parameter: BindParameter = (value) => `$${values.push(value)}`;
    const conditions = [
      ...table.notRemoved,
      ...visibility
        .filtersFor(context)
        .map(([filter, value]) => filter.where(value, parameter, '', '')),
    ];
    const statement = {
      text: textOf(table, columns, conditions, maxBytes),
      values,
      types: STORED_TYPES,
    };
    const rows = await bulkheads.lists.run(() => statements.rows<Row>(statement as Statement));
    return new Map(rows.map((row) => [row[key], row[0] === true ? null : rowToJson(columns, row)]));
  }
}

/** In JSON, by id; `null` if the rows before it take all bytes of the page. */
type RelatedItems = ReadonlyMap<unknown, string | null>;

const NONE: RelatedItems = new Map();

/** The rows with the ids of the first parameter. Those that are needed first, in the order of the page, take the bytes. */
function textOf(
  { table, key, bytes }: EntityColumns,
  columns: readonly EntityColumn[],
  conditions: readonly string[],
  maxBytes: number,
): string {
  const isBeyond = `rs__before >= ${maxBytes}`;
  const list = columns.map(({ name, bytes: length }) =>
    length === undefined ? name : `CASE WHEN NOT ${isBeyond} THEN ${name} END`,
  );
  const names = columns.map(({ name }) => name).join(', ');
  const ids = `$1::${key.type}[]`;
  const where = [`${key.name} = ANY (${ids})`, ...conditions].join(' AND ');
  return `SELECT ${isBeyond}, ${list.join(', ')} FROM (
    SELECT rs__found.*, sum(rs__bytes) OVER (ORDER BY rs__place) - rs__bytes AS rs__before
    FROM unnest(${ids}) WITH ORDINALITY AS rs__wanted (rs__id, rs__place)
    JOIN (SELECT ${names}, ${bytes} AS rs__bytes FROM ${table} WHERE ${where}) AS rs__found ON ${key.name} = rs__id
  ) AS rs__related`;
}
