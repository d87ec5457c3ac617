import { ApiSchema, OmitType } from '@nestjs/swagger';
import {
  BodyTypes,
  DtoOf,
  ExportOf,
  ListOf,
  NewOf,
  NoOtherParameters,
  PATCH_TYPES,
  PatchOf,
} from '@resource-service/framework';
import { Tool } from '../tool.entity.js';

@ApiSchema({ name: 'NewTool', description: 'A tool to create.' })
export class NewToolDto extends OmitType(NewOf(Tool), ['borrower']) {}

@ApiSchema({ name: 'StoredTool', description: 'A tool with its id.' })
export class StoredToolDto extends DtoOf(Tool) {}

@BodyTypes(...PATCH_TYPES)
@ApiSchema({
  name: 'ToolPatch',
  description: 'The fields to change. Fields that are absent stay as they are.',
})
export class ToolPatchDto extends OmitType(PatchOf(Tool), ['borrower']) {}

@NoOtherParameters()
export class ListToolsDto extends ListOf(Tool) {}

@NoOtherParameters()
export class ExportToolsDto extends ExportOf(ListToolsDto) {}
