import { applyDecorators } from '@nestjs/common';
import { ApiBody, ApiOperation, ApiParam } from '@nestjs/swagger';
import { ApiErrors, ERRORS, INT64_SCHEMA } from '@resource-service/framework';
import type { ResourceExamples } from '@resource-service/framework';
import { UUID_SCHEMA } from '@resource-service/framework/extension';
import { NewWebhookDto, WebhookStartDto } from './dto/webhook.dto.js';
import { WEBHOOK_ERRORS } from './webhooks.errors.js';

const ID = '01920000-0000-7000-8000-000000000001';

export const WEBHOOK_EXAMPLES: ResourceExamples = {
  create: {
    'a-webhook': {
      summary: 'A webhook for all changes',
      value: { id: ID, url: 'https://example.com/webhooks', kinds: [], resources: [] },
    },
  },
  patch: { kinds: { summary: 'Only what is created', value: { kinds: ['created'] } } },
};

const {
  webhookNotFound,
  webhookAddressNotAllowed,
  webhooksNotConfigured,
  tooManyTestMessages,
  tooManyWebhooks,
} = WEBHOOK_ERRORS;

const WRONG_TYPE = 'the body must be application/json in UTF-8, without Content-Encoding';

const POSTED = [
  ERRORS.malformedJson,
  ERRORS.bodyMissing,
  ERRORS.bodyNotValid,
  ERRORS.bodyTooLarge,
  ERRORS.tooManyBodies,
  ERRORS.tooManyAnswers,
  [
    { ...ERRORS.unsupportedMediaType, message: WRONG_TYPE },
    `${WRONG_TYPE}; the request has Content-Type "text/plain"`,
    ['Accept-Post'],
  ],
] as const;

const OF_ONE = [
  [ERRORS.parameterNotValid, 'id must be a UUID with hyphens'],
  webhookNotFound,
] as const;

const SENT = [tooManyTestMessages, webhooksNotConfigured] as const;

const WebhookId = () =>
  ApiParam({
    name: 'id',
    description: 'The id of the webhook.',
    schema: { ...UUID_SCHEMA, example: ID },
  });

const described = (operationId: string, summary: string, description: string) =>
  ApiOperation({ operationId, tags: ['webhooks'], summary, description });

/** The decorators of what a resource does not have usually. */
export const WEBHOOK_OPERATIONS = {
  create: applyDecorators(
    described(
      'createWebhook',
      'Create a webhook',
      'Creates a webhook, whose address gets the changes that follow, in their order and at least once each: messages of Standard Webhooks 1.0. The response has the secret, which no other response has. Each request creates a webhook, so send it again only if you remove what you do not need.',
    ),
    ApiBody({
      type: NewWebhookDto,
      examples: {
        'a-webhook': {
          summary: 'A webhook for all changes',
          value: { url: 'https://example.com/webhooks', kinds: [], resources: [] },
        },
      },
    }),
    ApiErrors(...POSTED, webhookAddressNotAllowed, tooManyWebhooks, webhooksNotConfigured),
  ),

  rotateSecret: applyDecorators(
    WebhookId(),
    described(
      'rotateWebhookSecret',
      'Replace the secret of a webhook',
      'Makes a new secret. For a day, each message has a signature with the former secret, too. Another rotation within the day forgets the one before the former.',
    ),
    ApiErrors(...OF_ONE, webhooksNotConfigured),
  ),

  resume: applyDecorators(
    WebhookId(),
    described(
      'resumeWebhook',
      'Resume a webhook',
      'Goes on with a webhook that is paused, or tries one that waits after an error at once. It can be repeated.',
    ),
    ApiBody({
      type: WebhookStartDto,
      examples: {
        stopped: { summary: 'Where it has stopped', value: { from: 'stopped' } },
        newest: { summary: 'With the changes that follow', value: { from: 'newest' } },
      },
    }),
    ApiErrors(...POSTED, ...OF_ONE),
  ),

  test: applyDecorators(
    WebhookId(),
    described(
      'testWebhook',
      'Send a test message',
      'Sends a message of the type `webhook.test` now, also to a webhook that is paused, and returns what came back.',
    ),
    ApiErrors(...OF_ONE, ...SENT),
  ),

  listDeliveries: applyDecorators(
    WebhookId(),
    described(
      'listWebhookDeliveries',
      'List the last deliveries of a webhook',
      'Returns the last hundred attempts, and more if they are very recent. With `sort=-id`, the newest comes first.',
    ),
    ApiErrors(...OF_ONE, ERRORS.tooManyLists, ERRORS.tooManyAnswers),
  ),

  resend: applyDecorators(
    WebhookId(),
    ApiParam({
      name: 'delivery',
      description: 'The id of the delivery.',
      schema: { ...INT64_SCHEMA, example: 1 },
    }),
    described(
      'resendWebhookDelivery',
      'Send the message of a delivery again',
      'Sends the message now, out of order and with the id that it had, and returns what came back.',
    ),
    ApiErrors(...OF_ONE, WEBHOOK_ERRORS.deliveryNotFound, WEBHOOK_ERRORS.deliveryPruned, ...SENT),
  ),
};
