import { Injectable } from '@nestjs/common';
import { GeneratedIdRepository, ServiceException } from '@resource-service/framework';
import { WebhookDeliveryDto, WebhookDto } from './dto/webhook.dto.js';
import { WebhookDelivery } from './webhook-delivery.entity.js';
import { Webhook } from './webhook.entity.js';
import { WEBHOOK_ERRORS } from './webhooks.errors.js';

@Injectable()
export class WebhooksRepository extends GeneratedIdRepository(Webhook, {
  name: 'webhooks',
  dto: WebhookDto,
  filters: {},
  notFound: (id) =>
    new ServiceException(WEBHOOK_ERRORS.webhookNotFound, `there is no webhook with id ${id}`),
}) {}

@Injectable()
export class WebhookDeliveriesRepository extends GeneratedIdRepository(WebhookDelivery, {
  name: 'webhook_deliveries',
  dto: WebhookDeliveryDto,
  filters: {},
  notFound: () => new ServiceException(WEBHOOK_ERRORS.deliveryNotFound),
}) {}
