import { Inject, Injectable } from '@nestjs/common';
import type { Type } from '@nestjs/common';
import type { PageParameters } from '../http/responses/page.js';
import type { BodyLine } from '../http/body/body-lines.js';
import { BaseRepository } from './base-repository.js';
import type { Content } from './properties/dto-of.js';
import type { Identified } from './properties/entity-columns.js';
import { actorOf } from './recording/actor.js';
import type { Actor } from './recording/actor.js';
import type { GivenContent, Resource, ResourceOptions } from './resource.js';
import { Resources } from './resources.js';
import type { ChangeContext } from './updates/updates.js';

/** The operations of a resource whose clients choose the id. */
export abstract class ChosenIdRepository<
  Entity extends Identified,
  Dto extends Identified,
  Query extends PageParameters<Entity['id']>,
  Changes = unknown,
> extends BaseRepository<Entity, Dto, Query, Changes> {
  constructor(protected override readonly resource: Resource<Entity, Dto, Query, Changes>) {
    super(resource);
  }

  /**
   * Resolves when the row is committed, or in a transaction when it is stored. Creating an equal row again succeeds and
   * changes nothing.
   *
   * @returns the given properties, as a look-up returns them
   * @throws ServiceException `idTaken` if the id belongs to a row with other content
   */
  async create(content: GivenContent<Entity, Dto>, context: ChangeContext = {}): Promise<Dto> {
    const { resource } = this;
    const { manager } = context;
    const { creates, readBack } = resource;
    // Complete for `creates`, which stores no columns that the database fills.
    const given = resource.complete(content) as unknown as Dto;
    await creates.create(given, actorOf(context), manager);
    return resource.represent(readBack.isNeeded ? await readBack.read(given, manager) : given);
  }

  /**
   * Creates all rows in one transaction, or none, with a statement for hundreds of them.
   *
   * @returns like {@link create}, for each content
   * @throws ServiceException like {@link create}
   */
  async createMany(
    contents: readonly GivenContent<Entity, Dto>[],
    context: ChangeContext = {},
  ): Promise<readonly Dto[]> {
    const { resource } = this;
    const { manager } = context;
    const { creates, readBack } = resource;
    const given = contents.map((content) => resource.complete(content) as unknown as Dto);
    await creates.createAll(given, actorOf(context), manager);
    const read = readBack.isNeeded ? await readBack.readMany(given, manager) : given;
    return read.map((row) => resource.represent(row));
  }

  /** Creates a row for each line, and returns the lines of the response. */
  import(
    lines: AsyncIterable<readonly BodyLine[]>,
    signal: AbortSignal,
    actor?: Actor,
  ): AsyncGenerator<string> {
    return this.resource.imports.run(lines, signal, actor);
  }
}

/**
 * The base of the repository of a resource whose clients choose the id. Nest injects such a class like any provider.
 *
 * @example
 * @Injectable()
 * export class ToolsRepository extends ResourceRepository<Tool, ListToolsDto>(Tool, {
 *   name: 'tools', dto: StoredToolDto, filters: TOOL_FILTERS,
 *   notFound: () => new ServiceException(TOOL_ERRORS.toolNotFound), idTaken: () => new ServiceException(TOOL_ERRORS.toolIdTaken),
 * }) {}
 */
export function ResourceRepository<
  Entity extends Identified,
  Query extends PageParameters<Entity['id']>,
  Changes = undefined,
>(
  entity: Type<Entity>,
  options: ResourceOptions<Entity, Content<Entity> & Identified, Query, Changes>,
): new (
  resources: Resources,
) => ChosenIdRepository<Entity, Content<Entity> & Identified, Query, Changes> {
  @Injectable()
  class EntityRepository extends ChosenIdRepository<
    Entity,
    Content<Entity> & Identified,
    Query,
    Changes
  > {
    constructor(@Inject(Resources) resources: Resources) {
      super(resources.of(entity, options));
    }
  }
  return EntityRepository;
}
