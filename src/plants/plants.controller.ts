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
import { ApiOkResponse } from '@nestjs/swagger';
import {
  ApiResource,
  Int64Pipe,
  LinesFile,
  NdjsonLines,
  NoParametersDto,
  Representation,
  RequestActor,
  RequestPrecondition,
  RequestSignal,
  RequireScope,
} from '@resource-service/framework';
import type { Actor, BodyLine, Page, Precondition } from '@resource-service/framework';
import { ExportPlantsDto, ListPlantsDto } from './dto/list-plants.dto.js';
import {
  NewPlantDto,
  PlantDto,
  PlantPatchDto,
  PlantReplacementDto,
  StoredPlantDto,
} from './dto/plant.dto.js';
import { PLANT_ERRORS } from './plants.errors.js';
import { PLANT_EXAMPLES } from './plants.examples.js';
import { PlantsService } from './plants.service.js';

@ApiResource({
  one: 'a plant',
  plural: 'plants',
  dto: StoredPlantDto,
  errors: { idTaken: PLANT_ERRORS.idTaken, noSuch: PLANT_ERRORS.noSuchPlant },
  hasSearch: true,
  examples: PLANT_EXAMPLES,
})
@Controller('plants')
export class PlantsController {
  constructor(private readonly plants: PlantsService) {}

  @Post()
  @HttpCode(200)
  @RequireScope('plants:write')
  @ApiOkResponse({ type: PlantDto })
  create(@Body() plant: NewPlantDto, @RequestActor() actor: Actor): Promise<PlantDto> {
    return this.plants.create(plant, actor);
  }

  @Get()
  @RequireScope('plants:read')
  list(@Query() query: ListPlantsDto): Promise<Page<ListPlantsDto>> {
    return this.plants.list(query);
  }

  @Post('import')
  @HttpCode(200)
  @RequireScope('plants:write')
  import(
    @Query() _query: NoParametersDto,
    @NdjsonLines() lines: AsyncIterable<readonly BodyLine[]>,
    @RequestSignal() signal: AbortSignal,
    @RequestActor() actor: Actor,
  ): StreamableFile {
    return new LinesFile(this.plants.import(lines, signal, actor), { endsInError: true });
  }

  @Get('export')
  @RequireScope('plants:read')
  export(@Query() query: ExportPlantsDto, @RequestSignal() signal: AbortSignal): StreamableFile {
    return new LinesFile(this.plants.export(query, signal));
  }

  @Get(':id')
  @RequireScope('plants:read')
  async get(@Param('id', Int64Pipe) id: bigint): Promise<Representation<StoredPlantDto>> {
    return new Representation(await this.plants.find(id));
  }

  @Put(':id')
  @RequireScope('plants:write')
  async replace(
    @Param('id', Int64Pipe) id: bigint,
    @Body() plant: PlantReplacementDto,
    @RequestActor() actor: Actor,
    @RequestPrecondition() precondition: Precondition | undefined,
  ): Promise<Representation<StoredPlantDto>> {
    return new Representation(await this.plants.replace(id, plant, { actor, precondition }));
  }

  @Patch(':id')
  @RequireScope('plants:write')
  async patch(
    @Param('id', Int64Pipe) id: bigint,
    @Body() patch: PlantPatchDto,
    @RequestActor() actor: Actor,
    @RequestPrecondition() precondition: Precondition | undefined,
  ): Promise<Representation<StoredPlantDto>> {
    return new Representation(await this.plants.patch(id, patch, { actor, precondition }));
  }

  @Delete(':id')
  @HttpCode(204)
  @RequireScope('plants:write')
  remove(
    @Param('id', Int64Pipe) id: bigint,
    @RequestActor() actor: Actor,
    @RequestPrecondition() precondition: Precondition | undefined,
  ): Promise<void> {
    return this.plants.remove(id, { actor, precondition });
  }
}
