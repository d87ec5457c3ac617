import { applyDecorators } from '@nestjs/common';
import { ApiBody, ApiConsumes, ApiOkResponse, ApiOperation } from '@nestjs/swagger';
import { ERRORS } from '../errors/common-errors.js';
import { ApiErrors } from '../http/errors/api-errors.js';
import { NDJSON } from '../http/body/ndjson.js';

const PLANTS = [
  { id: 1101, name: 'Aloe', tag: 'indoor' },
  { id: 1102, name: 'Lavender' },
];

export function ApiImportPlants(): MethodDecorator {
  return applyDecorators(
    ApiOperation({
      operationId: 'importPlants',
      tags: ['plants'],
      summary: 'Import plants',
      description: `Creates a plant for each line of the body, which is a NewPlant in JSON. A line that is refused does not stop the others. The answer arrives while the body is sent: a line for each refused line, and at the end a summary. There are no parameters; a request with any is refused.\n\nAn import without a summary is incomplete. If it cannot go on, an Error takes the place of the summary. An import can be sent again: plants that are stored with the same content count as unchanged.`,
    }),
    ApiConsumes(NDJSON),
    ApiBody({
      required: false,
      description:
        'NewPlants, each on a line of its own, or none. Blank lines are skipped. The limit on the length of a body applies to each line, and the body can have any length.',
      schema: { type: 'string' },
      examples: {
        plants: { summary: 'Two plants', value: ndjson(...PLANTS) },
        'refused-line': {
          summary: 'A line that is refused',
          value: ndjson({ id: 1103, name: 'Sage' }, { id: 1104 }),
        },
      },
    }),
    ApiOkResponse({
      description:
        'Lines of JSON. For each refused line of the body `{"line", "error", "message"}`: its number from 1, and the members of an Error. At the end `{"created", "unchanged", "refused"}`: how many plants are stored now, were stored before, and how many lines were refused. If the import could not go on, the last line is an Error without `line`.',
      content: {
        [NDJSON]: {
          schema: { type: 'string' },
          examples: {
            plants: {
              summary: 'Two plants',
              value: ndjson({ created: 2, unchanged: 0, refused: 0 }),
            },
            'refused-line': {
              summary: 'A line that is refused',
              value: ndjson(
                { line: 2, error: 40003, message: 'name is missing' },
                { created: 1, unchanged: 0, refused: 1 },
              ),
            },
          },
        },
      },
    }),
    ApiErrors(
      [ERRORS.parameterNotValid, 'there is no parameter "dry_run"'],
      [
        ERRORS.unsupportedMediaType,
        `the body must be ${NDJSON} in UTF-8, without Content-Encoding; the request has Content-Type "text/plain"`,
        ['Accept-Post'],
      ],
      ERRORS.tooManyImports,
    ),
  );
}

export function ApiExportPlants(): MethodDecorator {
  return applyDecorators(
    ApiOperation({
      operationId: 'exportPlants',
      tags: ['plants'],
      summary: 'Export plants',
      description:
        'Returns all plants that match, each on a line of its own, in ascending order of their ids, and an empty line at the end. An export without the empty line is incomplete, even if the connection has not broken: `after` with the last id continues it. The answer can be imported. Plants that change meanwhile appear with their old or their new content.',
    }),
    ApiOkResponse({
      description: 'The plants. Each line is a StoredPlant in JSON. The last line is empty.',
      content: {
        [NDJSON]: {
          schema: { type: 'string' },
          examples: { plants: { summary: 'Two plants', value: `${ndjson(...PLANTS)}\n` } },
        },
      },
    }),
    ApiErrors(
      [ERRORS.parameterNotValid, 'name must have at least 3 characters'],
      ERRORS.searchTooSlow,
      ERRORS.tooManySearches,
      ERRORS.tooManyExports,
    ),
  );
}

function ndjson(...values: readonly object[]): string {
  return values.map((value) => `${JSON.stringify(value)}\n`).join('');
}
