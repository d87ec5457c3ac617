import { ApiProperty, ApiSchema } from '@nestjs/swagger';
import {
  BodyTypes,
  DtoOf,
  ListOf,
  NewOf,
  NoOtherParameters,
  PATCH_TYPES,
  PatchOf,
} from '@resource-service/framework';
import { IsIn } from 'class-validator';
import { WebhookDelivery } from '../webhook-delivery.entity.js';
import { Webhook } from '../webhook.entity.js';

@ApiSchema({ name: 'NewWebhook', description: 'A webhook to create.' })
export class NewWebhookDto extends NewOf(Webhook) {}

@ApiSchema({ name: 'Webhook', description: 'A webhook with its state.' })
export class WebhookDto extends DtoOf(Webhook) {}

@ApiSchema({ name: 'WebhookSecret', description: 'The secret of a webhook, which is shown once.' })
export class WebhookSecretDto extends DtoOf(Webhook, ['id']) {
  @ApiProperty({
    type: 'string',
    description: 'Verifies the signatures of the messages (Standard Webhooks).',
    example: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwMfKQ9r8GKYo=',
  })
  readonly secret!: string;
}

@BodyTypes(...PATCH_TYPES)
@ApiSchema({
  name: 'WebhookPatch',
  description: 'The fields to change. Fields that are absent stay as they are.',
})
export class WebhookPatchDto extends PatchOf(Webhook) {}

const STARTS = ['stopped', 'oldest', 'newest'] as const;

@ApiSchema({ name: 'WebhookStart', description: 'Where a webhook goes on.' })
export class WebhookStartDto {
  @ApiProperty({
    enum: STARTS,
    description:
      '`stopped`: where it has stopped. `oldest`: with the oldest changes that are kept, after the last change without a record. `newest`: with changes that follow.',
    example: 'stopped',
  })
  @IsIn(STARTS, { message: `from must be one of ${STARTS.join(', ')}` })
  readonly from!: (typeof STARTS)[number];
}

@ApiSchema({ name: 'WebhookDelivery', description: 'An attempt to send a message.' })
export class WebhookDeliveryDto extends DtoOf(WebhookDelivery) {}

@NoOtherParameters()
export class ListWebhooksDto extends ListOf(Webhook) {}

@NoOtherParameters()
export class ListDeliveriesDto extends ListOf(WebhookDelivery) {}
