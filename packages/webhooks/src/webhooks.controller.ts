import { Body, Controller, Delete, Get, HttpCode, Param, Patch, Post, Query } from '@nestjs/common';
import { ApiCreatedResponse, ApiOkResponse } from '@nestjs/swagger';
import {
  ApiResource,
  Created,
  EnabledWhen,
  NoParametersDto,
  Representation,
  RequestActor,
  RequireScope,
  UuidPipe,
} from '@resource-service/framework';
import type { Actor, Config, Page } from '@resource-service/framework';
import {
  ListWebhooksDto,
  NewWebhookDto,
  WebhookDto,
  WebhookPatchDto,
  WebhookSecretDto,
  WebhookStartDto,
} from './dto/webhook.dto.js';
import { WEBHOOK_ERRORS } from './webhooks.errors.js';
import { WEBHOOK_EXAMPLES, WEBHOOK_OPERATIONS } from './webhook-operations.js';
import { WebhooksService } from './webhooks.service.js';

export const SCOPE = 'webhooks:manage';

export const areChangesRecorded = ({ changes }: Config): boolean => changes.enabled !== false;

/** The operations whose responses have a secret, which is kept nowhere else: so they take no `Idempotency-Key`. */
@EnabledWhen(areChangesRecorded)
@Controller('webhooks')
export class WebhookSecretsController {
  constructor(private readonly webhooks: WebhooksService) {}

  @Post()
  @RequireScope(SCOPE)
  @ApiCreatedResponse({ type: WebhookSecretDto, description: 'The webhook is stored.' })
  @WEBHOOK_OPERATIONS.create
  async create(@Body() webhook: NewWebhookDto): Promise<Created<WebhookSecretDto>> {
    return new Created(await this.webhooks.create(webhook));
  }

  @Post(':id/rotate-secret')
  @HttpCode(200)
  @RequireScope(SCOPE)
  @ApiOkResponse({ type: WebhookSecretDto, description: 'The new secret.' })
  @WEBHOOK_OPERATIONS.rotateSecret
  rotateSecret(
    @Param('id', UuidPipe) id: string,
    @Query() _query: NoParametersDto,
  ): Promise<WebhookSecretDto> {
    return this.webhooks.rotateSecret(id);
  }
}

@EnabledWhen(areChangesRecorded)
@ApiResource({
  one: 'a webhook',
  plural: 'webhooks',
  dto: WebhookDto,
  errors: {
    noSuch: WEBHOOK_ERRORS.webhookNotFound,
    others: [WEBHOOK_ERRORS.webhookAddressNotAllowed],
  },
  examples: WEBHOOK_EXAMPLES,
})
@Controller('webhooks')
export class WebhooksController {
  constructor(private readonly webhooks: WebhooksService) {}

  @Get()
  @RequireScope(SCOPE)
  list(@Query() query: ListWebhooksDto): Promise<Page<ListWebhooksDto>> {
    return this.webhooks.list(query);
  }

  @Get(':id')
  @RequireScope(SCOPE)
  async get(@Param('id', UuidPipe) id: string): Promise<Representation<WebhookDto>> {
    return new Representation(await this.webhooks.find(id));
  }

  @Patch(':id')
  @RequireScope(SCOPE)
  async patch(
    @Param('id', UuidPipe) id: string,
    @Body() patch: WebhookPatchDto,
  ): Promise<Representation<WebhookDto>> {
    return new Representation(await this.webhooks.patch(id, patch));
  }

  @Delete(':id')
  @HttpCode(204)
  @RequireScope(SCOPE)
  remove(@Param('id', UuidPipe) id: string, @RequestActor() actor: Actor): Promise<void> {
    return this.webhooks.remove(id, actor);
  }

  @Post(':id/resume')
  @HttpCode(200)
  @RequireScope(SCOPE)
  @ApiOkResponse({ type: WebhookDto, description: 'The webhook as it is stored now.' })
  @WEBHOOK_OPERATIONS.resume
  async resume(
    @Param('id', UuidPipe) id: string,
    @Body() start: WebhookStartDto,
  ): Promise<Representation<WebhookDto>> {
    return new Representation(await this.webhooks.resume(id, start));
  }
}
