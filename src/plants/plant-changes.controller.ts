import { Controller, Get, Query, Req } from '@nestjs/common';
import type { Request } from 'express';
import { RequireScope } from '../auth/require-scope.decorator.js';
import { RequestSignal } from '../http/answers/request-signal.js';
import type { EventStream } from '../http/answers/event-stream.js';
import type { Page } from '../http/answers/page.js';
import { NoParametersDto } from '../http/body/dto.pipe.js';
import type { LatestPositionDto } from './dto/plant-change.dto.js';
import { ListPlantChangesDto } from './dto/list-plant-changes.dto.js';
import { lastEventId } from '../resources/history/position.js';
import { CHANGES_API } from './plant-changes.openapi.js';
import { PlantChangesService } from './plant-changes.service.js';

@Controller('changes')
export class PlantChangesController {
  constructor(private readonly changes: PlantChangesService) {}

  @Get()
  @RequireScope('changes:read')
  @CHANGES_API.list
  list(
    @Query() query: ListPlantChangesDto,
    @Req() request: Request,
    @RequestSignal() signal: AbortSignal,
  ): Promise<Page<ListPlantChangesDto> | EventStream> {
    // Also for pages: a header field that is not valid is refused, whatever the request is for.
    const last = lastEventId(request.headers);
    // The guard has set the principal: no route is without.
    return acceptsEvents(request)
      ? this.changes.follow(query, last, request.principal!, signal)
      : this.changes.list(query);
  }

  @Get('latest')
  @RequireScope('changes:read')
  @CHANGES_API.latest
  latest(@Query() _query: NoParametersDto): Promise<LatestPositionDto> {
    return this.changes.latest();
  }
}

/** Whether the client prefers events to pages (RFC 9110, section 12.5.1). */
function acceptsEvents(request: Request): boolean {
  return request.accepts(['application/json', 'text/event-stream']) === 'text/event-stream';
}
