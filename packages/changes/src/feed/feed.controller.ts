import { Controller, Get, Inject, Query, Req } from '@nestjs/common';
import type { Type } from '@nestjs/common';
import type { Request } from 'express';
import {
  EnabledWhen,
  NoParametersDto,
  RequestSignal,
  RequireScope,
} from '@resource-service/framework';
import { requirePrincipal } from '@resource-service/framework/extension';
import type {
  EventStream,
  Key,
  Page,
  PageParameters,
  Scope,
} from '@resource-service/framework/extension';
import type { ChangeParameters, Feed } from './feed.js';
import { changeDto, exampleOf, LatestPositionDto, listChangesDto } from './feed.dto.js';
import type { FeedDocs } from './feed.dto.js';
import { feedOperations } from './feed-operations.js';
import { lastEventId } from './position.js';

interface FeedParts extends Omit<FeedDocs, 'noun' | 'property' | 'example'> {
  /** A row; by default, with the examples of the properties of `stored`. */
  readonly example?: FeedDocs['example'];
  /** Exports the repository. */
  readonly module: Type;
  /** The repository of the resource, which records changes. */
  readonly repository: Type<{ readonly changes: Feed; readonly isLimited?: boolean }>;
  /** The scope that readers need, such as `changes:read`. */
  readonly scope: Scope;
}

export type FeedOptions = FeedParts &
  /** @deprecated Use `property`. */
  (Pick<FeedDocs, 'property'> | { readonly member: string });

type ListQuery = ChangeParameters & Readonly<Record<string, unknown>>;

/** The class of a controller with the operations on the changes of a resource. */
export function feedController(options: FeedOptions): Type {
  const docs = docsOf(options);
  const { property } = docs;
  const { path, scope, repository } = options;
  const ListChangesDto = listChangesDto(docs);
  const operations = feedOperations(docs, changeDto(docs));

  @EnabledWhen(({ changes }) => changes.enabled !== false)
  @Controller(path)
  class FeedController {
    private readonly changes: Feed;

    // Reads it now: the service does not start with a repository that records no changes.
    constructor(
      @Inject(repository)
      { changes, isLimited }: { readonly changes: Feed; readonly isLimited?: boolean },
    ) {
      if (isLimited === true) {
        throw new TypeError(
          `${repository.name} has the option visible, so it cannot have a feed: it would have the changes of all rows`,
        );
      }
      this.changes = changes;
    }

    @Get()
    @RequireScope(scope)
    @operations.list
    list(
      @Query() query: ListQuery,
      @Req() request: Request,
      @RequestSignal() signal: AbortSignal,
    ): Promise<Page<PageParameters> | EventStream> {
      // Also for pages: a header field that is not valid is rejected, whatever the request is for.
      const last = lastEventId(request.headers);
      const id = query[property] as Key | undefined;
      if (!acceptsEvents(request)) return this.changes.list(query, id);
      const principal = requirePrincipal(request);
      const { after, acceptGap } = query;
      return this.changes.follow({ principal, after: last ?? after, acceptGap, id, signal });
    }

    @Get('latest')
    @RequireScope(scope)
    @operations.latest
    async latest(@Query() _query: NoParametersDto): Promise<LatestPositionDto> {
      return { position: await this.changes.latest() };
    }
  }
  // TypeScript does not emit the type of a parameter whose class is a variable.
  const types = [ListChangesDto, Object, AbortSignal];
  Reflect.defineMetadata('design:paramtypes', types, FeedController.prototype, 'list');
  return FeedController;
}

export function docsOf(options: FeedOptions): FeedDocs {
  const property = 'property' in options ? options.property : options.member;
  const { one, stored, example = exampleOf(stored) } = options;
  return { ...options, property, example, noun: one.replace(/^an? /, '') };
}

/** Whether the client prefers events to pages (RFC 9110, section 12.5.1). */
function acceptsEvents(request: Request): boolean {
  return request.accepts(['application/json', 'text/event-stream']) === 'text/event-stream';
}
