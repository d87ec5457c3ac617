import { Controller, Get, HttpCode, Param, Post, Query } from '@nestjs/common';
import { ApiOkResponse } from '@nestjs/swagger';
import {
  EnabledWhen,
  Int64Pipe,
  NoParametersDto,
  Representation,
  RequestActor,
  RequestSignal,
  RequireScope,
  UuidPipe,
} from '@resource-service/framework';
import type { Actor, Page } from '@resource-service/framework';
import { DeliveriesService } from './deliveries.service.js';
import { ListDeliveriesDto, WebhookDeliveryDto } from './dto/webhook.dto.js';
import { WEBHOOK_OPERATIONS } from './webhook-operations.js';
import { areChangesRecorded, SCOPE } from './webhooks.controller.js';

@EnabledWhen(areChangesRecorded)
@Controller('webhooks')
export class DeliveriesController {
  constructor(private readonly deliveries: DeliveriesService) {}

  @Post(':id/test')
  @HttpCode(200)
  @RequireScope(SCOPE)
  @ApiOkResponse({ type: WebhookDeliveryDto, description: 'What has become of the message.' })
  @WEBHOOK_OPERATIONS.test
  async test(
    @Param('id', UuidPipe) id: string,
    @Query() _query: NoParametersDto,
    @RequestActor() actor: Actor,
    @RequestSignal() signal: AbortSignal,
  ): Promise<Representation<WebhookDeliveryDto>> {
    return new Representation(await this.deliveries.test(id, actor, signal));
  }

  @Get(':id/deliveries')
  @RequireScope(SCOPE)
  @ApiOkResponse({ type: WebhookDeliveryDto, isArray: true, description: 'A page of deliveries.' })
  @WEBHOOK_OPERATIONS.listDeliveries
  list(
    @Param('id', UuidPipe) id: string,
    @Query() query: ListDeliveriesDto,
  ): Promise<Page<ListDeliveriesDto>> {
    return this.deliveries.list(id, query);
  }

  @Post(':id/deliveries/:delivery/resend')
  @HttpCode(200)
  @RequireScope(SCOPE)
  @ApiOkResponse({ type: WebhookDeliveryDto, description: 'What has become of the message.' })
  @WEBHOOK_OPERATIONS.resend
  async resend(
    @Param('id', UuidPipe) id: string,
    @Param('delivery', Int64Pipe) delivery: bigint,
    @Query() _query: NoParametersDto,
    @RequestActor() actor: Actor,
    @RequestSignal() signal: AbortSignal,
  ): Promise<Representation<WebhookDeliveryDto>> {
    return new Representation(await this.deliveries.resend(id, delivery, actor, signal));
  }
}
