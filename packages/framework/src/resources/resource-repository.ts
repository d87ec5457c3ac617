import { Inject, Injectable } from '@nestjs/common';
import type { Type } from '@nestjs/common';
import type { Precondition } from '../http/answers/entity-tag.js';
import type { Page, PageParameters } from '../http/answers/page.js';
import type { Line } from '../http/body/body-lines.js';
import type { Content } from './dto-of.js';
import type { Identified } from './entity-columns.js';
import type { Feed } from './history/feed.js';
import type { Origin } from './history/origin.js';
import { Resources } from './resources.js';
import type { Resource, ResourceOptions } from './resources.js';
import type { ChangeContext } from './updates.js';

/** What an update or a removal belongs to. */
export interface UpdateContext extends ChangeContext {
  /** It is made only if the stored row meets this. */
  readonly precondition?: Precondition | undefined;
}

/** The verbs of a resource. Each has a page in docs/framework. */
export abstract class BaseRepository<
  Entity extends Identified,
  Dto extends Identified,
  Query extends PageParameters,
> {
  constructor(private readonly resource: Resource<Entity, Dto, Query>) {}

  /**
   * Resolves when the row is committed, or in a transaction when it is stored. Creating the same row again succeeds and
   * changes nothing.
   *
   * @returns the members that were given
   * @throws ServiceException `idTaken` when the id belongs to a row with other content
   */
  async create(content: Dto, { origin, manager }: ChangeContext = {}): Promise<Dto> {
    await this.resource.creates.create(content, origin, manager);
    return this.resource.represent(content);
  }

  /** @throws ServiceException `notFound` */
  async find(id: bigint): Promise<Dto> {
    return this.resource.represent(await this.resource.lookups.find(id));
  }

  list(query: Query): Promise<Page<Query>> {
    return this.resource.pages.list(query);
  }

  /**
   * Replaces all members. A member that the body lacks becomes null.
   *
   * @throws ServiceException `notFound`, `precondition-failed`, or `body-not-valid` if the body has another id
   */
  async replace(id: bigint, body: object, context: UpdateContext = {}): Promise<Dto> {
    const { precondition } = context;
    return this.resource.represent(
      await this.resource.updates.replace(id, body, precondition, context),
    );
  }

  /**
   * Changes the members that a JSON Merge Patch has; null removes one (RFC 7396).
   *
   * @throws ServiceException like {@link replace}
   */
  async patch(id: bigint, body: object, context: UpdateContext = {}): Promise<Dto> {
    const { precondition } = context;
    return this.resource.represent(
      await this.resource.updates.patch(id, body, precondition, context),
    );
  }

  /** @throws ServiceException `notFound`, `precondition-failed` */
  async remove(id: bigint, context: UpdateContext = {}): Promise<void> {
    await this.resource.updates.remove(id, context.precondition, context);
  }

  /** Creates a row for each line, and returns the lines of the answer. */
  import(
    lines: AsyncIterable<readonly Line[]>,
    signal: AbortSignal,
    origin?: Origin,
  ): AsyncGenerator<string> {
    return this.resource.imports.run(lines, signal, origin);
  }

  /** Returns the rows that match as lines. */
  export(query: Omit<Query, 'limit'>, signal: AbortSignal): AsyncGenerator<string> {
    return this.resource.exports.run(query, signal);
  }

  /** @throws TypeError if the resource records no changes */
  get changes(): Feed {
    const { feed } = this.resource;
    if (feed === undefined) throw new TypeError('the resource records no changes');
    return feed;
  }

  /** Copies the members of a DTO, by default of the class with all members, and leaves out null. */
  represent<Other = Dto>(row: Entity | Dto, dto?: Type<Other>): Other {
    return this.resource.represent(row, dto);
  }
}

/**
 * The base of the repository of a resource whose clients choose the id: `class ToolsRepository extends ResourceRepository(Tool,
 * { … }) {}`. Nest injects such a class like any provider.
 */
export function ResourceRepository<Entity extends Identified, Query extends PageParameters>(
  entity: Type<Entity>,
  options: ResourceOptions<Content<Entity> & Identified, Query>,
): new (resources: Resources) => BaseRepository<Entity, Content<Entity> & Identified, Query> {
  @Injectable()
  class EntityRepository extends BaseRepository<Entity, Content<Entity> & Identified, Query> {
    constructor(@Inject(Resources) resources: Resources) {
      super(resources.of(entity, options));
    }
  }
  return EntityRepository;
}
