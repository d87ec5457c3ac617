import type { Type } from '@nestjs/common';
import type { Precondition } from '../http/answers/entity-tag.js';
import type { ExportParameters, Page, PageParameters } from '../http/answers/page.js';
import type { Keyed } from './properties/key-type.js';
import type { BaseResource } from './resource.js';
import type { ChangeContext } from './updates/updates.js';

export interface UpdateContext extends ChangeContext {
  /** The change is made only if the stored row meets it. */
  readonly precondition?: Precondition | undefined;
}

/** The operations that all resources have. Each has a page in docs/framework. */
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
   * Replaces all properties; one that the body lacks becomes null.
   *
   * @throws ServiceException `notFound`, `precondition-failed`, or `body-not-valid` if the body has another id
   */
  async replace(id: Entity['id'], body: object, context: UpdateContext = {}): Promise<Dto> {
    const row = await this.resource.updates.replace(id, body, context.precondition, context);
    return this.resource.represent(row);
  }

  /**
   * Changes the properties that a JSON Merge Patch has; null removes one (RFC 7396).
   *
   * @throws ServiceException like {@link replace}
   */
  async patch(id: Entity['id'], body: object, context: UpdateContext = {}): Promise<Dto> {
    const row = await this.resource.updates.patch(id, body, context.precondition, context);
    return this.resource.represent(row);
  }

  /** @throws ServiceException `notFound`, `precondition-failed` */
  async remove(id: Entity['id'], context: UpdateContext = {}): Promise<void> {
    await this.resource.updates.remove(id, context.precondition, context);
  }

  /** Returns the matching rows as lines of NDJSON. */
  export(query: ExportParameters<Query>, signal: AbortSignal): AsyncGenerator<string> {
    return this.resource.exports.run(query, signal);
  }

  /**
   * The `changes` of the resource's recorder, such as its feed.
   *
   * @throws TypeError if the resource records no changes
   */
  get changes(): Changes {
    const { recorder } = this.resource;
    if (recorder === undefined) throw new TypeError('the resource records no changes');
    return recorder.changes;
  }

  /** Copies the properties of a DTO, by default of the class with all properties, and leaves out null. */
  represent<Other = Dto>(row: Entity | Dto, dto?: Type<Other>): Other {
    return this.resource.represent(row, dto);
  }
}
