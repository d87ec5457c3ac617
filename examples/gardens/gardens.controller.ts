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
  Int64Pipe,
  LinesFile,
  NdjsonLines,
  NoParametersDto,
  Representation,
  RequestPrecondition,
  RequestSignal,
  RequireScope,
} from '@resource-service/framework';
import type { Line, Page, Precondition } from '@resource-service/framework';
import {
  ExportGardensDto,
  StoredGardenDto,
  GardenPatchDto,
  GardenReplacementDto,
  ListGardensDto,
  NewGardenDto,
} from './dto/garden.dto.js';
import { API } from './gardens.openapi.js';
import { GardensService } from './gardens.service.js';
// #region plants
import type { StoredPlantDto } from '../../src/plants/dto/plant.dto.js';
import { ApiGetPlantOfGarden } from './gardens.openapi.js';
// #endregion

@Controller('gardens')
export class GardensController {
  constructor(private readonly gardens: GardensService) {}

  @Post()
  @HttpCode(200)
  @RequireScope('gardens:write')
  @API.create
  create(@Body() garden: NewGardenDto): Promise<StoredGardenDto> {
    return this.gardens.create(garden);
  }

  @Get()
  @RequireScope('gardens:read')
  @API.list
  list(@Query() query: ListGardensDto): Promise<Page<ListGardensDto>> {
    return this.gardens.list(query);
  }

  @Post('import')
  @HttpCode(200)
  @RequireScope('gardens:write')
  @API.import
  import(
    @Query() _query: NoParametersDto,
    @NdjsonLines() lines: AsyncIterable<readonly Line[]>,
    @RequestSignal() signal: AbortSignal,
  ): StreamableFile {
    return new LinesFile(this.gardens.import(lines, signal), true);
  }

  @Get('export')
  @RequireScope('gardens:read')
  @API.export
  export(@Query() query: ExportGardensDto, @RequestSignal() signal: AbortSignal): StreamableFile {
    return new LinesFile(this.gardens.export(query, signal), false);
  }

  @Get(':id')
  @RequireScope('gardens:read')
  @API.get
  async get(@Param('id', Int64Pipe) id: bigint): Promise<Representation<StoredGardenDto>> {
    return new Representation(await this.gardens.find(id));
  }

  // #region plants
  @Get(':id/plant')
  @RequireScope('plants:read')
  @ApiGetPlantOfGarden()
  getPlant(@Param('id', Int64Pipe) id: bigint): Promise<StoredPlantDto> {
    return this.gardens.findPlant(id);
  }

  // #endregion
  @Put(':id')
  @RequireScope('gardens:write')
  @API.replace
  async replace(
    @Param('id', Int64Pipe) id: bigint,
    @Body() garden: GardenReplacementDto,
    @RequestPrecondition() precondition: Precondition | undefined,
  ): Promise<Representation<StoredGardenDto>> {
    return new Representation(await this.gardens.replace(id, garden, { precondition }));
  }

  @Patch(':id')
  @RequireScope('gardens:write')
  @API.patch
  async patch(
    @Param('id', Int64Pipe) id: bigint,
    @Body() patch: GardenPatchDto,
    @RequestPrecondition() precondition: Precondition | undefined,
  ): Promise<Representation<StoredGardenDto>> {
    return new Representation(await this.gardens.patch(id, patch, { precondition }));
  }

  @Delete(':id')
  @HttpCode(204)
  @RequireScope('gardens:write')
  @API.remove
  remove(
    @Param('id', Int64Pipe) id: bigint,
    @RequestPrecondition() precondition: Precondition | undefined,
  ): Promise<void> {
    return this.gardens.remove(id, { precondition });
  }
}
