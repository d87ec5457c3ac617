import { ApiBody, ApiConsumes, ApiResponse } from '@nestjs/swagger';
import { ERRORS } from '../../errors/common-errors.js';
import { NoParametersDto } from '../../http/body/dto.pipe.js';
import { NDJSON } from '../../http/body/ndjson.js';
import { ApiRepeatable } from '../../http/responses/repeatable.js';
import { ApiErrors } from '../../http/errors/api-errors.js';
import { capital, operation, schemaName, unsupported } from './resource-docs.js';
import type { Document } from './resource-docs.js';

const NO_DRY_RUN = [ERRORS.parameterNotValid, 'there is no parameter "dry_run"'] as const;

export const importRows: Document = (words, { response, status, query }) => {
  const { one, plural, missing } = words;
  const [first, second] = words.examples.import ?? [{ id: 1 }, { id: 2 }];
  const id = Number(second.id);
  const hasNoParameters = query === NoParametersDto;
  const rejected = [{ ...second, id: id + 1 }, { id: id + 2 }];
  const examples = (two: readonly object[], line: readonly object[]) => ({
    [plural]: { summary: `Two ${plural}`, value: ndjson(...two) },
    'refused-line': { summary: 'A rejected line', value: ndjson(...line) },
  });
  return [
    ApiRepeatable(),
    operation(
      words,
      `import${words.Many}`,
      `Import ${plural}`,
      `Creates ${one} for each line of the body, which is a ${schemaName(response)} in JSON. A rejected line does not stop the others. The response arrives while the body is sent: a line for each rejected line, and at the end a summary.${hasNoParameters ? ' There are no parameters; a request with any is rejected.' : ''}\n\nAn import without a summary is incomplete. If it cannot go on, an Error takes the place of the summary. An import can be sent again: ${plural} that are stored with the same content count as unchanged. The command of the service imports CSV, too.`,
    ),
    ApiConsumes(NDJSON),
    ApiBody({
      required: false,
      description: `${capital(plural)}, each on a line of its own, or none. Blank lines are skipped. The limit on the length of a body applies to each line, and the body can have any length.`,
      schema: { type: 'string' },
      examples: examples([first, second], rejected),
    }),
    ApiResponse({
      status,
      description: `Lines of JSON: one for each rejected line of the body, and a summary at the end.

| Line | Field | Meaning |
| --- | --- | --- |
| rejected | \`line\` | its number in the body, from 1 |
| rejected | \`error\`, \`message\` | as in an Error |
| summary | \`created\` | how many ${plural} are stored now |
| summary | \`unchanged\` | how many were stored before |
| summary | \`refused\` | how many lines were rejected |

If the import could not go on, the last line is an Error without \`line\`.`,
      content: {
        [NDJSON]: {
          schema: { type: 'string' },
          examples: examples(
            [{ created: 2, unchanged: 0, refused: 0 }],
            [
              { line: 2, error: ERRORS.bodyNotValid.number, message: missing },
              { created: 1, unchanged: 0, refused: 1 },
            ],
          ),
        },
      },
    }),
    ApiErrors(
      ...(hasNoParameters ? [NO_DRY_RUN] : []),
      unsupported([NDJSON], 'Accept-Post'),
      ERRORS.tooManyImports,
    ),
  ];
};

export const exportRows: Document = (words, { response, status }) => {
  const { plural, key, isIdChosen, isImportable } = words;
  const rows = words.examples.import ?? words.rows.slice(0, 2);
  return [
    operation(
      words,
      `export${words.Many}`,
      `Export ${plural}`,
      `Returns all ${plural} that match, each on a line of its own, in ascending order of their ids, and an empty line at the end. An export without the empty line is incomplete, even if the connection has not broken: \`after\` with the last id continues it.${isIdChosen && isImportable ? ' The response can be imported.' : ''} ${capital(plural)} that change meanwhile appear with their old or their new content. The command of the service writes them as CSV, too.`,
    ),
    ApiResponse({
      status,
      description: `The ${plural}. Each line is a ${schemaName(response)} in JSON. The last line is empty.`,
      content: {
        [NDJSON]: {
          schema: { type: 'string' },
          examples: {
            [plural]: { summary: `Two ${plural}`, value: `${ndjson(...rows)}\n` },
          },
        },
      },
    }),
    ApiErrors(
      [ERRORS.parameterNotValid, key.constraintOf('after')],
      ...words.searchErrors,
      ERRORS.tooManyExports,
    ),
  ];
};

function ndjson(...values: readonly object[]): string {
  return values.map((value) => `${JSON.stringify(value)}\n`).join('');
}
