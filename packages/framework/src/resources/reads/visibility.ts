import type { Principal } from '../../auth/principal.js';
import type { EntityColumn } from '../properties/entity-column.js';
import type { EntityColumns } from '../properties/entity-columns.js';
import { parseDate } from '../properties/kinds/date.js';
import { actorOf } from '../recording/actor.js';
import type { ActorOption } from '../recording/actor.js';
import { columnFilters } from './used-filters.js';
import type { Filter, UsedFilter, Where } from './page-query.js';

/**
 * Says which rows a principal sees and changes: those with these values, or with the values of one of several alternatives, or `all`.
 *
 * @example visible: (principal) => (hasScope(principal, 'bookings:approve') ? 'all' : { createdBy: principal.id }),
 * @example visible: ({ id }) => [{ createdBy: id }, { approver: id, status: 'requested' }],
 */
export type Visible<Entity> = (
  principal: Principal,
) => Where<Entity> | readonly Where<Entity>[] | 'all';

/** Limits all operations on stored rows to those that the actor sees. */
export class Visibility {
  constructor(
    private readonly columns: () => EntityColumns,
    private readonly visible: Visible<object> | undefined,
  ) {}

  get isLimited(): boolean {
    return this.visible !== undefined;
  }

  /**
   * The filters of the visible rows; a job of the service sees all.
   *
   * @throws TypeError without an actor, or if `visible` returns no condition
   */
  filtersFor(context: ActorOption | undefined): readonly UsedFilter[] {
    if (this.visible === undefined) return [];
    const alternatives = this.alternativesFor(context);
    if (alternatives === undefined) return [];
    const each = alternatives.map((where) => columnFilters(this.columns(), where));
    return each.length === 1 ? each[0]! : [[oneOf(each), true]];
  }

  /** Whether a row with all columns is visible. */
  has(row: object, context: ActorOption | undefined): boolean {
    if (this.visible === undefined) return true;
    const alternatives = this.alternativesFor(context);
    if (alternatives === undefined) return true;
    const values = row as Readonly<Record<string, unknown>>;
    const columns = this.columns();
    return alternatives.some((where) =>
      Object.entries(where).every(([property, value]) => {
        const { type } = columns.column(property);
        return comparable(values[property], type) === comparable(value, type);
      }),
    );
  }

  /** `undefined`: the actor sees all rows. */
  private alternativesFor(context: ActorOption | undefined): readonly Where[] | undefined {
    const actor = actorOf(context ?? {});
    if (actor === undefined) {
      throw new TypeError(
        `not all rows of ${this.columns().table} are visible to all: pass the actor (@RequestActor(), or Actor.system(…) of a job)`,
      );
    }
    // No verifier can say so.
    if (actor.principal.kind === 'system') return undefined;
    const where = this.visible!(actor.principal) as Where | readonly Where[] | 'all';
    if (where === 'all') return undefined;
    const columns = this.columns();
    const alternatives = [where].flat() as readonly Where[];
    if (alternatives.some((each) => Object.keys(each).length === 0)) {
      throw new TypeError(
        `visible must return 'all', or conditions for ${columns.table}, each with a property`,
      );
    }
    for (const [property, value] of alternatives.flatMap((each) => Object.entries(each))) {
      const column = columns.column(property);
      if (column.isVerbatim || column.type === 'uuid' || value === null) continue;
      if (isAsRead(value, column)) continue;
      // A list would show rows that a look-up does not find.
      throw new TypeError(
        `visible cannot compare ${property}: equal values of the type ${column.exactType} can be written differently`,
      );
    }
    return alternatives;
  }
}

/** No index has the rows of several alternatives in one order. */
function oneOf(alternatives: readonly (readonly UsedFilter[])[]): Filter<unknown> {
  return {
    where: (_, parameter, start, end) => {
      const conditions = alternatives.map((filters) =>
        filters.map(([filter, value]) => filter.where(value, parameter, start, end)).join(' AND '),
      );
      return conditions.length === 0 ? 'false' : `(${conditions.join(' OR ')})`;
    },
    uses: () => ({}),
  };
}

/** Whether a day or a decimal is written as its column returns it, so that no equal value is written differently. */
function isAsRead(value: unknown, { exactType, fromDriver }: EntityColumn): boolean {
  // A transformer of the column would return it in another form.
  if (typeof value !== 'string' || fromDriver(value) !== value) return false;
  if (exactType === 'date') return parseDate(value) !== undefined;
  const [, scale] = /^numeric\(\d+,(\d+)\)$/.exec(exactType) ?? [];
  // PostgreSQL has no negative zero.
  const [number, digits = ''] = /^(?!-[0.]+$)-?(?:0|[1-9]\d*)(?:\.(\d+))?$/.exec(value) ?? [];
  return number !== undefined && String(digits.length) === scale;
}

/** Values of one column are equal if these are. */
function comparable(value: unknown, type: string): unknown {
  if (type === 'uuid' && typeof value === 'string') return value.toLowerCase();
  return value instanceof Date ? value.getTime() : value;
}
