import type { Type } from '@nestjs/common';
import type { ExportParameters, Page, PageParameters } from '../http/responses/page.js';
import type { Keyed } from './properties/key-type.js';
import type { ActorOption } from './recording/actor.js';
import type { ListContext } from './reads/page-query.js';
import type { BaseResource } from './resource.js';
import type { ChangeContext, UpdateContext } from './updates/updates.js';

/** The operations that all resources have. Each has a page in docs/framework. */
export abstract class BaseRepository<
  Entity extends Keyed,
  Dto extends Keyed,
  Query extends PageParameters<Entity['id']>,
  Changes = unknown,
> {
  constructor(protected readonly resource: BaseResource<Entity, Dto, Query, Changes>) {}

  /**
   * @param context the actor, required if the option `visible` limits the rows that a principal sees
   * @throws ServiceException `notFound`
   */
  async find(id: Entity['id'], context?: ActorOption): Promise<Dto> {
    return this.resource.represent(await this.resource.lookups.find(id, context));
  }

  /** @param context the actor like in {@link find}, and conditions that are not in the `Link` */
  list(query: Query, context?: ListContext<Entity>): Promise<Page<Query>> {
    return this.resource.pages.list(query, context);
  }

  /**
   * Replaces the properties of the body's class; one that the body lacks gets its default, or becomes null. Of a plain object, it replaces
   * all properties that clients can set.
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

  /**
   * Changes these properties of all rows with these ids, in one statement.
   *
   * @param ids at most 10,000
   * @param patch without the id
   * @returns the changed rows, in the order of the ids, without those that are not found
   * @throws ServiceException like {@link patch}, or `body-too-large`: then nothing is changed, unless a transaction that is given commits
   *   nevertheless
   */
  async patchMany(
    ids: readonly Entity['id'][],
    patch: object,
    context: ChangeContext = {},
  ): Promise<readonly Dto[]> {
    const rows = await this.resource.updates.patchMany(ids, patch, context);
    return rows.map((row) => this.resource.represent(row));
  }

  /**
   * Deletes a row; if its entity has `@DeleteDateColumn()`, marks it, so that only {@link restore} finds it.
   *
   * @throws ServiceException `notFound`, `precondition-failed`
   */
  async remove(id: Entity['id'], context: UpdateContext = {}): Promise<void> {
    await this.resource.updates.remove(id, context);
  }

  /**
   * Brings back a removed row of an entity with `@DeleteDateColumn()`. A row that is not removed stays as it is.
   *
   * @throws ServiceException like {@link remove}, or the error of a constraint
   */
  async restore(id: Entity['id'], context: UpdateContext = {}): Promise<Dto> {
    return this.resource.represent(await this.resource.updates.restore(id, context));
  }

  /** Returns the matching rows as lines of NDJSON. */
  export(
    query: ExportParameters<Query>,
    signal: AbortSignal,
    context?: ListContext<Entity>,
  ): AsyncGenerator<string> {
    return this.resource.exports.run(query, signal, context);
  }

  /** Whether the option `visible` limits the rows that a principal sees. */
  get isLimited(): boolean {
    return this.resource.visibility.isLimited;
  }

  /**
   * The `changes` of the resource's recorder, such as its feed. They are of all rows, also of those that a principal does not see.
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
