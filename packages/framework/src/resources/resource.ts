import type { Type } from '@nestjs/common';
import type { PageParameters } from '../http/responses/page.js';
import type { ChangeRecorder, MakeRecorder } from './recording/change-recorder.js';
import type { ConstraintErrors } from './properties/constraints.js';
import type { Identified, IdError } from './properties/entity-columns.js';
import type { Exports } from './transfers/exports.js';
import type { DefaultedNames, FilledNames } from './properties/filled.js';
import type { GeneratedCreate } from './generated-ids/generated-create.js';
import type { GroupCreate } from './creates/group-create.js';
import type { GroupLookup } from './reads/group-lookup.js';
import type { Imports } from './transfers/imports.js';
import type { Keyed } from './properties/key-type.js';
import type { Expansions } from './reads/expansion.js';
import type { Filters } from './reads/page-query.js';
import type { Pages } from './reads/pages.js';
import type { ReadBack } from './creates/read-back.js';
import type { Visibility, Visible } from './reads/visibility.js';
import type { Search } from './reads/search-index.js';
import type { Updates } from './updates/updates.js';

/** The options of a resource whose ids the database makes. */
export interface GeneratedResourceOptions<
  Entity extends Keyed,
  Dto extends Keyed,
  Query,
  Changes = unknown,
> {
  /** The name of the resource in metrics, such as `tools`. */
  readonly name: string;
  /** The class with all properties, including the id. */
  readonly dto: Type<Dto>;
  readonly filters: Filters<Query>;
  /** The related rows that the items of lists have on request. */
  readonly expansions?: Expansions<Entity>;
  /** The error of a look-up or change whose id has no row. */
  readonly notFound: IdError<Entity['id']>;
  readonly constraints?: ConstraintErrors;
  /** Records creates, updates and removals, such as `recordChanges(ToolChange, 'tool')` of `@resource-service/changes`. */
  readonly changes?: MakeRecorder<Changes>;
  /** The property that clients search in; the service cleans its index. */
  readonly search?: Search;
  /**
   * The rows that a principal sees and changes: those with these values, or with the values of one of several alternatives, or `all`.
   * Any other is not found. Each operation on stored rows then needs its actor.
   */
  readonly visible?: Visible<Entity>;
  /** Called with the newly created rows, after their commit. */
  readonly onCreated?: (created: readonly Dto[]) => void;
}

/** The options of a resource whose clients choose the id. */
export interface ResourceOptions<
  Entity extends Identified,
  Dto extends Identified,
  Query,
  Changes = unknown,
> extends GeneratedResourceOptions<Entity, Dto, Query, Changes> {
  /** The class of a line of an import, by default `dto`. It must lack the properties that the database fills. */
  readonly imported?: Type<Omit<Dto, FilledNames<Entity>>>;
  /** The error of a create whose id belongs to a row with other content. */
  readonly idTaken: IdError<bigint>;
}

/** The parts of all resources. Each has a page in docs/framework. */
export interface BaseResource<
  Entity extends Keyed,
  Dto extends Keyed,
  Query extends PageParameters<Entity['id']>,
  Changes = unknown,
> {
  readonly lookups: GroupLookup<Entity>;
  readonly updates: Updates<Entity>;
  readonly pages: Pages<Query>;
  readonly exports: Exports<Query>;
  readonly recorder: ChangeRecorder<Changes> | undefined;
  readonly visibility: Visibility;
  complete<Content extends object>(content: Content): Content;
  represent<Other = Dto>(entity: Entity | Dto, dto?: Type<Other>): Other;
}

/** What a create takes: without what the database fills, and properties with a default are optional. */
export type GivenContent<Entity, Dto> = Omit<Dto, FilledNames<Entity> | DefaultedNames<Entity>> &
  Partial<Pick<Dto, DefaultedNames<Entity> & keyof Dto>>;

export interface Resource<
  Entity extends Identified,
  Dto extends Identified,
  Query extends PageParameters<Entity['id']>,
  Changes = unknown,
> extends BaseResource<Entity, Dto, Query, Changes> {
  readonly creates: GroupCreate<Dto>;
  readonly readBack: ReadBack;
  readonly imports: Imports<Dto>;
}

export interface GeneratedResource<
  Entity extends Keyed,
  Dto extends Keyed,
  Query extends PageParameters<Entity['id']>,
  Changes = unknown,
> extends BaseResource<Entity, Dto, Query, Changes> {
  readonly creates: GeneratedCreate<Dto>;
}
