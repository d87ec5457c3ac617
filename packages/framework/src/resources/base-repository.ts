import type { Type } from '@nestjs/common';
import type { ExportParameters, Page, PageParameters } from '../http/responses/page.js';
import type { Keyed } from './properties/key-type.js';
import type { BaseResource } from './resource.js';
import type { UpdateContext } from './updates/updates.js';

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
   * Replaces the properties of the body's class; one that the body lacks becomes null. Of a plain object, it replaces all properties that
   * clients can set.
   *
   * @throws ServiceException `notFound`, `precondition-failed`, or `body-not-valid` if the body has another id
   */
  async replace(id: Entity['id'], body: object, context: UpdateContext = {}): Promise<Dto> {
    return this.resource.represent(await this.resource.updates.replace(id, body, context));
  }

  /**
   * Changes the properties that a JSON Merge Patch has; null removes one (RFC 7396).
   *
   * @throws ServiceException like {@link replace}
   */
  async patch(id: Entity['id'], body: object, context: UpdateContext = {}): Promise<Dto> {
    return this.resource.represent(await this.resource.updates.patch(id, body, context));
  }

  /** @throws ServiceException `notFound`, `precondition-failed` */
  async remove(id: Entity['id'], context: UpdateContext = {}): Promise<void> {
    await this.resource.updates.remove(id, context);
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
