import { Module } from '@nestjs/common';
import type { DynamicModule } from '@nestjs/common';
import { DiscoveryModule } from '@nestjs/core';
import { provideVariables, ResourceModule } from '@resource-service/framework';
import { DOCUMENTED_WEBHOOKS } from '@resource-service/framework/extension';
import { Clock } from './delivery/clock.js';
import { Courier } from './delivery/courier.js';
import { Dispatcher } from './delivery/dispatcher.js';
import { WebhookFeeds } from './delivery/webhook-feeds.js';
import { WebhookRows } from './delivery/webhook-rows.js';
import { DeliveriesController } from './deliveries.controller.js';
import { DeliveriesService } from './deliveries.service.js';
import { CreateWebhooks1795942800000 } from './migrations/1795942800000-create-webhooks.js';
import { WEBHOOK_VARIABLES } from './variables.js';
import { WebhookDelivery } from './webhook-delivery.entity.js';
import { WebhookDocument } from './webhook-document.js';
import { Webhook } from './webhook.entity.js';
import { WebhooksController, WebhookSecretsController } from './webhooks.controller.js';
import { WebhookDeliveriesRepository, WebhooksRepository } from './webhooks.repository.js';
import { WebhooksService } from './webhooks.service.js';

/** Delivers the changes of each resource that has a `FeedModule` to the addresses of users. */
@Module({})
export class WebhooksModule {
  /**
   * For the module of the application.
   *
   * @example
   * imports: [FrameworkModule.forRoot(IDENTITY), ToolsModule, ToolChangesModule, WebhooksModule.forRoot()]
   */
  static forRoot(): DynamicModule {
    return {
      module: WebhooksModule,
      imports: [
        DiscoveryModule,
        ResourceModule.forFeature([Webhook, WebhookDelivery], {
          migrations: [CreateWebhooks1795942800000],
          // A kept response to a create would have the secret.
          idempotency: false,
        }),
      ],
      controllers: [WebhookSecretsController, WebhooksController, DeliveriesController],
      providers: [
        Clock,
        Courier,
        Dispatcher,
        WebhookFeeds,
        WebhookRows,
        WebhooksRepository,
        WebhookDeliveriesRepository,
        WebhooksService,
        DeliveriesService,
        { provide: DOCUMENTED_WEBHOOKS, useClass: WebhookDocument },
        provideVariables(WEBHOOK_VARIABLES),
      ],
    };
  }
}
