import type { Type } from '@nestjs/common';
import type { Precondition } from '../http/answers/entity-tag.js';
import type { ExportParameters, Page, PageParameters } from '../http/answers/page.js';
import type { Keyed } from './properties/key-type.js';
import type { BaseResource } from './resource.js';
import type { ChangeContext } from './updates/updates.js';

/** What an update or a removal belongs to. */
export interface UpdateContext extends ChangeContext {
  /** It is made only if the stored row meets this. */
  readonly precondition?: Precondition | undefined;
}

/** The verbs that all resources have. Each has a page in docs/framework. */
export abstract class BaseRepository<
  Entity extends Keyed,
  Dto extends Keyed,
  Query extends PageParameters<Entity['id']>,
  Changes = unknown,
> {
  constructor(protected readonly resource: BaseResource<Entity, Dto, Query, Changes>) {}

  /** @throws ServiceException `notFound` */
  async find(id: Entity['id']): Promise<Dto> {
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
  async replace(id: Entity['id'], body: object, context: UpdateContext = {}): Promise<Dto> {
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
  async patch(id: Entity['id'], body: object, context: UpdateContext = {}): Promise<Dto> {
    const { precondition } = context;
    return this.resource.represent(
      await this.resource.updates.patch(id, body, precondition, context),
    );
  }

  /** @throws ServiceException `notFound`, `precondition-failed` */
  async remove(id: Entity['id'], context: UpdateContext = {}): Promise<void> {
    await this.resource.updates.remove(id, context.precondition, context);
  }

  /** Returns the rows that match as lines. */
  export(query: ExportParameters<Query>, signal: AbortSignal): AsyncGenerator<string> {
    return this.resource.exports.run(query, signal);
  }

  /**
   * What the recorder of the resource offers, such as its feed.
   *
   * @throws TypeError if the resource records no changes
   */
  get changes(): Changes {
    const { recorder } = this.resource;
    if (recorder === undefined) throw new TypeError('the resource records no changes');
    return recorder.changes;
  }

  /** Copies the members of a DTO, by default of the class with all members, and leaves out null. */
  represent<Other = Dto>(row: Entity | Dto, dto?: Type<Other>): Other {
    return this.resource.represent(row, dto);
  }
}
