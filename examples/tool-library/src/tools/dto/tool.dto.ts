import { ApiSchema } from '@nestjs/swagger';
import {
  BodyTypes,
  DtoOf,
  ExportOf,
  isIn,
  isNull,
  ListOf,
  NewOf,
  NoOtherParameters,
  PATCH_TYPES,
  PatchOf,
} from '@resource-service/framework';
import { Tool } from '../tool.entity.js';

@ApiSchema({ name: 'NewTool', description: 'A tool to create.' })
export class NewToolDto extends NewOf(Tool) {}

@ApiSchema({ name: 'StoredTool', description: 'A tool with its id.' })
export class StoredToolDto extends DtoOf(Tool) {}

@BodyTypes(...PATCH_TYPES)
@ApiSchema({
  name: 'ToolPatch',
  description: 'The fields to change. Fields that are absent stay as they are.',
})
export class ToolPatchDto extends PatchOf(Tool) {}

/** The parameters that filter lists. */
export const TOOL_FILTERS = { condition: isIn('condition'), isAvailable: isNull('borrower') };

@NoOtherParameters()
export class ListToolsDto extends ListOf(Tool, TOOL_FILTERS) {}

@NoOtherParameters()
export class ExportToolsDto extends ExportOf(ListToolsDto) {}
