import { Injectable } from '@nestjs/common';
import { GeneratedIdRepository, ServiceException } from '@resource-service/framework';
import { StoredToolDto, TOOL_FILTERS } from './dto/tool.dto.js';
import type { ListToolsDto } from './dto/tool.dto.js';
import { Tool } from './tool.entity.js';
import { TOOL_ERRORS } from './tools.errors.js';

@Injectable()
export class ToolsRepository extends GeneratedIdRepository<Tool, ListToolsDto>(Tool, {
  name: 'tools',
  dto: StoredToolDto,
  filters: TOOL_FILTERS,
  notFound: (id) =>
    new ServiceException(TOOL_ERRORS.toolNotFound, `there is no tool with id ${id}`),
  constraints: { loans_tool_id_fkey: TOOL_ERRORS.toolToRemoveOnLoan },
}) {}
