import {
  Body,
  Controller,
  Delete,
  Get,
  HttpCode,
  Param,
  Patch,
  Post,
  Put,
  Query,
} from '@nestjs/common';
import type { StreamableFile } from '@nestjs/common';
import {
  ApiResource,
  Created,
  Int64Pipe,
  LinesFile,
  Representation,
  RequestActor,
  RequestIdempotencyKey,
  RequestPrecondition,
  RequestSignal,
  RequireScope,
} from '@resource-service/framework';
import type { Actor, Page, Precondition } from '@resource-service/framework';
import {
  ExportSampleItemsDto,
  StoredSampleItemDto,
  SampleItemPatchDto,
  SampleItemReplacementDto,
  ListSampleItemsDto,
  NewSampleItemDto,
} from './dto/sample-item.dto.js';
import { SAMPLE_ITEM_ERRORS } from './sample-items.errors.js';
import { SAMPLE_ITEM_EXAMPLES } from './sample-items.examples.js';
import { SampleItemsService } from './sample-items.service.js';

@ApiResource({
  one: 'a sample item',
  plural: 'sample items',
  dto: StoredSampleItemDto,
  errors: { noSuch: SAMPLE_ITEM_ERRORS.sampleItemNotFound },
  examples: SAMPLE_ITEM_EXAMPLES,
})
@Controller('sample-items')
export class SampleItemsController {
  constructor(private readonly sampleItems: SampleItemsService) {}

  @Post()
  @RequireScope('sample-items:write')
  async create(
    @Body() sampleItem: NewSampleItemDto,
    @RequestActor() actor: Actor,
    @RequestIdempotencyKey() idempotencyKey: string | undefined,
  ): Promise<Created<StoredSampleItemDto>> {
    return new Created(await this.sampleItems.create(sampleItem, { actor, idempotencyKey }));
  }

  @Get()
  @RequireScope('sample-items:read')
  list(@Query() query: ListSampleItemsDto): Promise<Page<ListSampleItemsDto>> {
    return this.sampleItems.list(query);
  }

  @Get('export')
  @RequireScope('sample-items:read')
  export(
    @Query() query: ExportSampleItemsDto,
    @RequestSignal() signal: AbortSignal,
  ): StreamableFile {
    return new LinesFile(this.sampleItems.export(query, signal));
  }

  @Get(':id')
  @RequireScope('sample-items:read')
  async get(@Param('id', Int64Pipe) id: bigint): Promise<Representation<StoredSampleItemDto>> {
    return new Representation(await this.sampleItems.find(id));
  }

  @Put(':id')
  @RequireScope('sample-items:write')
  async replace(
    @Param('id', Int64Pipe) id: bigint,
    @Body() sampleItem: SampleItemReplacementDto,
    @RequestActor() actor: Actor,
    @RequestPrecondition() precondition: Precondition | undefined,
  ): Promise<Representation<StoredSampleItemDto>> {
    return new Representation(
      await this.sampleItems.replace(id, sampleItem, { actor, precondition }),
    );
  }

  @Patch(':id')
  @RequireScope('sample-items:write')
  async patch(
    @Param('id', Int64Pipe) id: bigint,
    @Body() patch: SampleItemPatchDto,
    @RequestActor() actor: Actor,
    @RequestPrecondition() precondition: Precondition | undefined,
  ): Promise<Representation<StoredSampleItemDto>> {
    return new Representation(await this.sampleItems.patch(id, patch, { actor, precondition }));
  }

  @Delete(':id')
  @HttpCode(204)
  @RequireScope('sample-items:write')
  remove(
    @Param('id', Int64Pipe) id: bigint,
    @RequestActor() actor: Actor,
    @RequestPrecondition() precondition: Precondition | undefined,
  ): Promise<void> {
    return this.sampleItems.remove(id, { actor, precondition });
  }
}
