import { Injectable } from '@nestjs/common';
import type { CreateContext, Page, UpdateContext } from '@resource-service/framework';
import type {
  ExportSampleItemsDto,
  ListSampleItemsDto,
  NewSampleItemDto,
  SampleItemPatchDto,
  SampleItemReplacementDto,
  StoredSampleItemDto,
} from './dto/sample-item.dto.js';
import { SampleItemsRepository } from './sample-items.repository.js';

@Injectable()
export class SampleItemsService {
  constructor(private readonly sampleItems: SampleItemsRepository) {}

  create(sampleItem: NewSampleItemDto, context: CreateContext): Promise<StoredSampleItemDto> {
    return this.sampleItems.create(sampleItem, context);
  }

  list(query: ListSampleItemsDto): Promise<Page<ListSampleItemsDto>> {
    return this.sampleItems.list(query);
  }

  find(id: bigint): Promise<StoredSampleItemDto> {
    return this.sampleItems.find(id);
  }

  replace(
    id: bigint,
    sampleItem: SampleItemReplacementDto,
    context: UpdateContext,
  ): Promise<StoredSampleItemDto> {
    return this.sampleItems.replace(id, sampleItem, context);
  }

  patch(
    id: bigint,
    patch: SampleItemPatchDto,
    context: UpdateContext,
  ): Promise<StoredSampleItemDto> {
    return this.sampleItems.patch(id, patch, context);
  }

  remove(id: bigint, context: UpdateContext): Promise<void> {
    return this.sampleItems.remove(id, context);
  }

  export(query: ExportSampleItemsDto, signal: AbortSignal): AsyncGenerator<string> {
    return this.sampleItems.export(query, signal);
  }
}
