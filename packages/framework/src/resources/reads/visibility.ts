import type { Principal } from '../../auth/principal.js';
import type { EntityColumns } from '../properties/entity-columns.js';
import { actorOf } from '../recording/actor.js';
import type { ActorOption } from '../recording/actor.js';
import { columnFilters } from './used-filters.js';
import type { UsedFilter, Where } from './page-query.js';

/**
 * Says which rows a principal sees and changes: those with these values, or `all`.
 *
 * @example visible: (principal) => (hasScope(principal, 'bookings:approve') ? 'all' : { createdBy: principal.id }),
 */
export type Visible<Entity> = (principal: Principal) => Where<Entity> | 'all';

/** Limits all operations on stored rows to those that the actor sees. */
export class Visibility {
  constructor(
    private readonly columns: () => EntityColumns,
    private readonly visible: Visible<object> | undefined,
  ) {}

  /** Whether some rows can be invisible. */
  get isLimited(): boolean {
    return this.visible !== undefined;
  }

  /**
   * The filters of the visible rows; a job of the service sees all.
   *
   * @throws TypeError without an actor, or if `visible` returns no condition
   */
  filtersFor(context: ActorOption | undefined): readonly UsedFilter[] {
    return this.visible === undefined ? [] : columnFilters(this.columns(), this.whereFor(context));
  }

  /** Whether a row with all columns is visible. */
  has(row: object, context: ActorOption | undefined): boolean {
    if (this.visible === undefined) return true;
    const values = row as Readonly<Record<string, unknown>>;
    return Object.entries(this.whereFor(context)).every(
      ([property, value]) => textOf(values[property]) === textOf(value),
    );
  }

  private whereFor(context: ActorOption | undefined): Where {
    const actor = actorOf(context ?? {});
    if (actor === undefined) {
      throw new TypeError(
        `not all rows of ${this.columns().table} are visible to all: pass the actor (@RequestActor(), or Actor.system(…) of a job)`,
      );
    }
    // No verifier can say so.
    if (actor.principal.kind === 'system') return {};
    const where = this.visible!(actor.principal) as Where | 'all';
    if (where === 'all') return {};
    if (Object.keys(where).length > 0) return where;
    throw new TypeError(`visible must return 'all', or a condition for ${this.columns().table}`);
  }
}

/** Values of one column are equal if these are. */
function textOf(value: unknown): unknown {
  return value instanceof Date ? value.getTime() : value;
}
