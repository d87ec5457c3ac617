import { apiGeneratedOperations } from '@resource-service/framework';
import { NewToolDto, StoredToolDto, ToolPatchDto } from './dto/tool.dto.js';
import { TOOL_ERRORS } from './tools.errors.js';

/** The documentation of the operations. Its examples succeed in an empty service if they are sent in this order. */
export const API = apiGeneratedOperations({
  one: 'a tool',
  plural: 'tools',
  operationIds: ['Tool', 'Tools'],
  created: NewToolDto,
  stored: StoredToolDto,
  patch: ToolPatchDto,
  errors: { noSuch: TOOL_ERRORS.toolNotFound, removal: [TOOL_ERRORS.toolToRemoveOnLoan] },
  examples: {
    'with-note': {
      summary: 'A tool with a note',
      value: { id: 1, name: 'Hammer', note: '500 g' },
    },
    'without-note': {
      summary: 'A tool without a note',
      value: { id: 2, name: 'Saw' },
    },
  },
  changed: 1,
  patches: {
    name: { summary: 'Another name and note', value: { name: 'Axe', note: '1 kg' } },
    'no-note': { summary: 'No note', value: { note: null } },
  },
  refused: { message: 'name is missing' },
});
