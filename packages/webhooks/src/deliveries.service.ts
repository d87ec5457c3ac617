import { Injectable } from '@nestjs/common';
import { ServiceException } from '@resource-service/framework';
import type { Actor, Page } from '@resource-service/framework';
import { Semaphore } from '@resource-service/framework/extension';
import { Clock } from './delivery/clock.js';
import { Courier } from './delivery/courier.js';
import { messageOf, testMessage } from './delivery/message.js';
import type { WebhookMessage } from './delivery/message.js';
import { attemptOf } from './delivery/turn.js';
import { WebhookFeeds } from './delivery/webhook-feeds.js';
import { WebhookRows } from './delivery/webhook-rows.js';
import type { ListDeliveriesDto, WebhookDeliveryDto } from './dto/webhook.dto.js';
import { WEBHOOK_ERRORS } from './webhooks.errors.js';
import { WebhookDeliveriesRepository, WebhooksRepository } from './webhooks.repository.js';

/** Requests that wait for a receiver at once. One principal has half of them at most. */
const MAX_SENDING = 16;

/** The last deliveries of a webhook, and messages that users ask for. */
@Injectable()
export class DeliveriesService {
  private readonly slots = new Semaphore(MAX_SENDING, WEBHOOK_ERRORS.tooManyTestMessages);

  constructor(
    private readonly webhooks: WebhooksRepository,
    private readonly deliveries: WebhookDeliveriesRepository,
    private readonly rows: WebhookRows,
    private readonly feeds: WebhookFeeds,
    private readonly courier: Courier,
    private readonly clock: Clock,
  ) {}

  /** @throws ServiceException `webhook-not-found` */
  async list(webhookId: string, query: ListDeliveriesDto): Promise<Page<ListDeliveriesDto>> {
    await this.webhooks.find(webhookId);
    return this.deliveries.list(query, { where: { webhookId } });
  }

  /**
   * Sends a test message.
   *
   * @throws ServiceException `webhook-not-found`, `too-many-test-messages`, `webhooks-not-configured`
   */
  test(webhookId: string, actor: Actor, signal: AbortSignal): Promise<WebhookDeliveryDto> {
    return this.send(webhookId, testMessage(new Date(this.clock.now())), actor, signal);
  }

  /**
   * Sends the message of a delivery once more, out of order.
   *
   * @throws ServiceException like {@link test}, and `delivery-not-found`, `delivery-pruned`
   */
  async resend(
    webhookId: string,
    id: bigint,
    actor: Actor,
    signal: AbortSignal,
  ): Promise<WebhookDeliveryDto> {
    const delivery = await this.deliveries.find(id);
    if (delivery.webhookId !== webhookId) {
      throw new ServiceException(WEBHOOK_ERRORS.deliveryNotFound);
    }
    const [resource = ''] = delivery.type.split('.');
    const change = await this.feeds.find(resource, delivery.messageId);
    if (change === undefined) throw new ServiceException(WEBHOOK_ERRORS.deliveryPruned);
    return this.send(webhookId, messageOf(resource, change), actor, signal);
  }

  private async send(
    id: string,
    message: WebhookMessage,
    { principal }: Actor,
    signal: AbortSignal,
  ): Promise<WebhookDeliveryDto> {
    const giveBack = this.slots.take(`${principal.kind}:${principal.id}`);
    try {
      const target = await this.rows.target(id);
      const outcome = target && (await this.courier.send(target, message, signal));
      const noted =
        outcome && (await this.rows.note(id, attemptOf(message, outcome, this.clock.now())));
      // Never there, or removed meanwhile.
      if (noted === undefined) {
        throw new ServiceException(
          WEBHOOK_ERRORS.webhookNotFound,
          `there is no webhook with id ${id}`,
        );
      }
      return await this.deliveries.find(noted);
    } finally {
      giveBack();
    }
  }
}
