import { Injectable } from '@nestjs/common';
import type { CreateContext, Page, UpdateContext } from '@resource-service/framework';
import type {
  ExportToolsDto,
  ListToolsDto,
  NewToolDto,
  ToolPatchDto,
  StoredToolDto,
} from './dto/tool.dto.js';
import { ToolsRepository } from './tools.repository.js';

@Injectable()
export class ToolsService {
  constructor(private readonly tools: ToolsRepository) {}

  create(tool: NewToolDto, context: CreateContext): Promise<StoredToolDto> {
    return this.tools.create(tool, context);
  }

  list(query: ListToolsDto): Promise<Page<ListToolsDto>> {
    return this.tools.list(query);
  }

  find(id: bigint): Promise<StoredToolDto> {
    return this.tools.find(id);
  }

  patch(id: bigint, patch: ToolPatchDto, context: UpdateContext): Promise<StoredToolDto> {
    return this.tools.patch(id, patch, context);
  }

  remove(id: bigint, context: UpdateContext): Promise<void> {
    return this.tools.remove(id, context);
  }

  export(query: ExportToolsDto, signal: AbortSignal): AsyncGenerator<string> {
    return this.tools.export(query, signal);
  }
}
