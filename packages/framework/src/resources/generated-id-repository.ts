import { Inject, Injectable, Optional } from '@nestjs/common';
import type { Type } from '@nestjs/common';
import type { PageParameters } from '../http/responses/page.js';
import { BaseRepository } from './base-repository.js';
import type { Content } from './properties/dto-of.js';
import { Idempotency } from './idempotency/idempotency.js';
import type { Keyed } from './properties/key-type.js';
import type { GeneratedResource, GeneratedResourceOptions, GivenContent } from './resource.js';
import { Resources } from './resources.js';
import type { CreateContext } from './generated-ids/generated-create.js';

/** The operations of a resource whose ids the database makes. */
export abstract class GeneratedRepository<
  Entity extends Keyed,
  Dto extends Keyed,
  Query extends PageParameters<Entity['id']>,
  Changes = unknown,
> extends BaseRepository<Entity, Dto, Query, Changes> {
  constructor(
    protected override readonly resource: GeneratedResource<Entity, Dto, Query, Changes>,
  ) {
    super(resource);
  }

  /**
   * Resolves when the row is committed, or in a transaction when it is stored.
   *
   * @param content without the id and other properties that the database fills
   * @returns the stored row; with an idempotency key that was used before, the result of that time
   * @throws ServiceException `idempotency-key-reused`
   */
  create(
    content: Omit<GivenContent<Entity, Dto>, 'id'>,
    context: CreateContext = {},
  ): Promise<Dto> {
    return this.resource.creates.create(content, context);
  }
}

/**
 * The base of the repository of a resource whose ids the database makes. Nest injects such a class like any provider.
 *
 * @example
 * @Injectable()
 * export class ToolsRepository extends GeneratedIdRepository<Tool, ListToolsDto>(Tool, {
 *   name: 'tools', dto: StoredToolDto, filters: TOOL_FILTERS, notFound: () => new ServiceException(TOOL_ERRORS.toolNotFound),
 * }) {}
 */
export function GeneratedIdRepository<
  Entity extends Keyed,
  Query extends PageParameters<Entity['id']>,
  Changes = undefined,
>(
  entity: Type<Entity>,
  options: GeneratedResourceOptions<Entity, Content<Entity> & Keyed, Query, Changes>,
): new (
  resources: Resources,
  idempotency?: Idempotency,
) => GeneratedRepository<Entity, Content<Entity> & Keyed, Query, Changes> {
  @Injectable()
  class EntityRepository extends GeneratedRepository<
    Entity,
    Content<Entity> & Keyed,
    Query,
    Changes
  > {
    constructor(
      @Inject(Resources) resources: Resources,
      @Optional() @Inject(Idempotency) idempotency?: Idempotency,
    ) {
      super(resources.generated(entity, options, idempotency));
    }
  }
  return EntityRepository;
}
