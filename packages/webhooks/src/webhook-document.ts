import { Injectable } from '@nestjs/common';
import { getSchemaPath } from '@nestjs/swagger';
import type { DocumentedWebhooks } from '@resource-service/framework/extension';
import { WebhookFeeds } from './delivery/webhook-feeds.js';
import { KINDS } from './webhook.entity.js';

const HEADERS = {
  'webhook-id': 'Identifies the message: a message that comes again has the id that it had.',
  'webhook-timestamp': 'When it was sent, in seconds since 1970.',
  'webhook-signature': 'Signatures of id, timestamp and body, separated by spaces.',
};

/** The messages that addresses get, for the OpenAPI document. */
@Injectable()
export class WebhookDocument implements DocumentedWebhooks {
  constructor(private readonly feeds: WebhookFeeds) {}

  get models() {
    return this.feeds.published.map(({ docs }) => docs.stored);
  }

  get webhooks() {
    const messages = this.feeds.published.flatMap(({ docs }) =>
      KINDS.map((kind) => [`${docs.property}.${kind}`, messageOf(kind, docs)] as const),
    );
    return Object.fromEntries(messages);
  }
}

function messageOf(
  kind: (typeof KINDS)[number],
  { noun, property, stored, example }: WebhookFeeds['published'][number]['docs'],
) {
  const isRemoved = kind === 'removed';
  const type = `${property}.${kind}`;
  const id = { properties: { id: { $ref: `${getSchemaPath(stored)}/properties/id` } } };
  const data = isRemoved
    ? { type: 'object' as const, ...id, required: ['id'] }
    : { $ref: getSchemaPath(stored) };
  return {
    post: {
      operationId: `${property}${kind.charAt(0).toUpperCase()}${kind.slice(1)}`,
      summary: `A ${noun} was ${kind}`,
      description: `A message of Standard Webhooks 1.0 for each ${noun} that is ${kind}. Verify its signature with the secret of the webhook. It may come more than once.`,
      security: [],
      parameters: Object.entries(HEADERS).map(([name, description]) => ({
        name,
        in: 'header' as const,
        required: true,
        description,
        schema: { type: 'string' as const },
      })),
      requestBody: {
        required: true,
        content: {
          'application/json': {
            schema: {
              type: 'object' as const,
              required: ['type', 'timestamp', 'data'],
              properties: {
                type: { type: 'string' as const, enum: [type] },
                timestamp: {
                  type: 'string' as const,
                  format: 'date-time',
                  description: 'When the change began.',
                },
                data,
              },
            },
            example: {
              type,
              timestamp: '2026-11-25T10:00:00.000Z',
              data: isRemoved ? { id: example.id } : example,
            },
          },
        },
      },
      responses: {
        '2XX': { description: 'The message has arrived. Any other response is an error.' },
        '410': { description: 'No more messages: the webhook is paused.' },
      },
    },
  };
}
