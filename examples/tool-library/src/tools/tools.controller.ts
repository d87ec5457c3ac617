import { Body, Controller, Delete, Get, HttpCode, Param, Patch, Post, Query } from '@nestjs/common';
import type { StreamableFile } from '@nestjs/common';
import {
  ApiResource,
  Created,
  Int64Pipe,
  LinesFile,
  Representation,
  RequestActor,
  RequestIdempotencyKey,
  RequestPrecondition,
  RequestSignal,
  RequireScope,
} from '@resource-service/framework';
import type { Actor, Page, Precondition } from '@resource-service/framework';
import {
  ExportToolsDto,
  StoredToolDto,
  ToolPatchDto,
  ListToolsDto,
  NewToolDto,
} from './dto/tool.dto.js';
import { TOOL_ERRORS } from './tools.errors.js';
import { TOOL_EXAMPLES } from './tools.examples.js';
import { ToolsService } from './tools.service.js';

@ApiResource({
  one: 'a tool',
  plural: 'tools',
  dto: StoredToolDto,
  errors: { noSuch: TOOL_ERRORS.toolNotFound, removal: [TOOL_ERRORS.toolToRemoveOnLoan] },
  examples: TOOL_EXAMPLES,
  hasSearch: true,
})
@Controller('tools')
export class ToolsController {
  constructor(private readonly tools: ToolsService) {}

  @Post()
  @RequireScope('tools:write')
  async create(
    @Body() tool: NewToolDto,
    @RequestActor() actor: Actor,
    @RequestIdempotencyKey() idempotencyKey: string | undefined,
  ): Promise<Created<StoredToolDto>> {
    return new Created(await this.tools.create(tool, { actor, idempotencyKey }));
  }

  @Get()
  @RequireScope('tools:read')
  list(@Query() query: ListToolsDto): Promise<Page<ListToolsDto>> {
    return this.tools.list(query);
  }

  @Get('export')
  @RequireScope('tools:read')
  export(@Query() query: ExportToolsDto, @RequestSignal() signal: AbortSignal): StreamableFile {
    return new LinesFile(this.tools.export(query, signal));
  }

  @Get(':id')
  @RequireScope('tools:read')
  async get(@Param('id', Int64Pipe) id: bigint): Promise<Representation<StoredToolDto>> {
    return new Representation(await this.tools.find(id));
  }

  @Patch(':id')
  @RequireScope('tools:write')
  async patch(
    @Param('id', Int64Pipe) id: bigint,
    @Body() patch: ToolPatchDto,
    @RequestPrecondition() precondition: Precondition | undefined,
  ): Promise<Representation<StoredToolDto>> {
    return new Representation(await this.tools.patch(id, patch, { precondition }));
  }

  @Delete(':id')
  @HttpCode(204)
  @RequireScope('tools:write')
  remove(
    @Param('id', Int64Pipe) id: bigint,
    @RequestPrecondition() precondition: Precondition | undefined,
  ): Promise<void> {
    return this.tools.remove(id, { precondition });
  }
}
