import { applyDecorators } from '@nestjs/common';
import type { Type } from '@nestjs/common';
import {
  ApiExtraModels,
  ApiHeader,
  ApiOkResponse,
  ApiOperation,
  getSchemaPath,
} from '@nestjs/swagger';
import { ApiErrors, ERRORS, INT64_SCHEMA } from '@resource-service/framework';
import { LatestPositionDto } from './feed.dto.js';
import type { FeedDocs } from './feed.dto.js';

export function feedOperations(docs: FeedDocs, change: Type) {
  const { path, noun, plural } = docs;
  const [list, latest] = docs.operationIds;
  const examples = examplesOf(docs);
  return {
    list: applyDecorators(
      ApiOperation({
        operationId: list,
        tags: [path],
        summary: 'List or follow changes',
        description: `Returns the changes of ${plural} in the order of their positions, the oldest first. If there are more, the \`Link\` header field leads to the next page. For one ${noun}, the order is the order of its changes. A reader that goes on after the last position that it has received misses no change.

A stream needs no webhook: with \`Accept: text/event-stream\`, the response does not end. It has an event for each change, also for the ones that come, with the position as its id (server-sent events). \`limit\` has no effect then. The service ends such a response when it shuts down, or when the token is no longer valid. A client that comes back with \`Last-Event-ID\` misses nothing, and receives nothing twice.

Changes are kept for as long as the operator has decided, 90 days by default. A position before the oldest change that is left is rejected with 410, and so is one before a change that was made without a record, such as by SQL.`,
      }),
      ApiExtraModels(change),
      ApiHeader({
        name: 'Last-Event-ID',
        required: false,
        description:
          'The id of the last event that was received. Has priority over `after`. For server-sent events only.',
        schema: INT64_SCHEMA,
      }),
      ApiOkResponse({
        description: 'A page of changes, or a stream of events.',
        headers: {
          Link: {
            description: `The next page with the same filter: \`</${path}?limit=50&after=2>; rel="next"\`. The last page has no such field (RFC 8288).`,
            schema: { type: 'string' },
          },
        },
        content: {
          'application/json': {
            schema: { type: 'array', items: { $ref: getSchemaPath(change) } },
            examples: { page: { summary: 'A page of changes', value: examples } },
          },
          'text/event-stream': {
            schema: { type: 'string' },
            examples: {
              events: {
                summary: 'Two events',
                value: examples
                  .map((event) => `id: ${event.position}\ndata: ${JSON.stringify(event)}\n\n`)
                  .join(''),
              },
            },
          },
        },
      }),
      ApiErrors(
        [ERRORS.parameterNotValid, 'limit must be an integer between 1 and 1000'],
        ERRORS.positionUnknown,
        ERRORS.changesPruned,
        ERRORS.tooManyFollowers,
        ERRORS.tooManyLists,
        ERRORS.tooManyAnswers,
      ),
    ),

    latest: applyDecorators(
      ApiOperation({
        operationId: latest,
        tags: [path],
        summary: 'Get the position of the newest change',
        description: `To copy the ${plural}, get this position, then all ${plural}, then the changes after the position.`,
      }),
      ApiOkResponse({
        type: LatestPositionDto,
        description: 'The position of the newest change.',
        links: {
          [list]: {
            operationId: list,
            parameters: { after: '$response.body#/position' },
            description: 'The changes after it.',
          },
        },
      }),
      ApiErrors([ERRORS.parameterNotValid, 'there is no parameter "after"']),
    ),
  };
}

function examplesOf({ property, example }: FeedDocs) {
  return [
    {
      position: 1,
      time: '2026-11-25T10:00:00.000Z',
      kind: 'created',
      id: example.id,
      [property]: example,
      principal: { kind: 'static-token', id: 'AUTH_TOKEN' },
      requestId: 'b3b0c1a4-6a0e-4a53-9d43-8f6a3b1f0c11',
    },
    {
      position: 2,
      time: '2026-11-25T10:05:00.000Z',
      kind: 'removed',
      id: example.id,
      principal: { kind: 'jwt', id: 'alice' },
      requestId: '0f6b8a8e-53f4-4d3c-8a86-0a1c2b9a2d77',
    },
  ];
}
