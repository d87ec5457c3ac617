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
  Int64Pipe,
  LinesFile,
  NdjsonLines,
  NoParametersDto,
  Representation,
  RequestPrecondition,
  RequestSignal,
  RequireScope,
} from '@resource-service/framework';
import type { BodyLine, Page, Precondition } from '@resource-service/framework';
import {
  ExportGardensDto,
  StoredGardenDto,
  GardenPatchDto,
  GardenReplacementDto,
  ListGardensDto,
  NewGardenDto,
} from './dto/garden.dto.js';
import { GARDEN_ERRORS } from './gardens.errors.js';
import { GARDEN_EXAMPLES } from './gardens.examples.js';
import { GardensService } from './gardens.service.js';
// #region plants
import { ApiOkResponse, ApiOperation, ApiParam } from '@nestjs/swagger';
import { ApiErrors, ERRORS, INT64_SCHEMA, int64Constraint } from '@resource-service/framework';
import { StoredPlantDto } from '../../src/plants/dto/plant.dto.js';
// #endregion

@ApiResource({
  one: 'a garden',
  plural: 'gardens',
  dto: StoredGardenDto,
  errors: {
    idTaken: GARDEN_ERRORS.gardenIdTaken,
    noSuch: GARDEN_ERRORS.gardenNotFound,
    // #region plants
    others: [GARDEN_ERRORS.gardenPlantNotFound],
    // #endregion
  },
  // #region plants
  hasSearch: true,
  // #endregion
  examples: GARDEN_EXAMPLES,
})
@Controller('gardens')
export class GardensController {
  constructor(private readonly gardens: GardensService) {}

  @Post()
  @HttpCode(200)
  @RequireScope('gardens:write')
  create(@Body() garden: NewGardenDto): Promise<StoredGardenDto> {
    return this.gardens.create(garden);
  }

  @Get()
  @RequireScope('gardens:read')
  list(@Query() query: ListGardensDto): Promise<Page<ListGardensDto>> {
    return this.gardens.list(query);
  }

  @Post('import')
  @HttpCode(200)
  @RequireScope('gardens:write')
  import(
    @Query() _query: NoParametersDto,
    @NdjsonLines() lines: AsyncIterable<readonly BodyLine[]>,
    @RequestSignal() signal: AbortSignal,
  ): StreamableFile {
    return new LinesFile(this.gardens.import(lines, signal), { endsInError: true });
  }

  @Get('export')
  @RequireScope('gardens:read')
  export(@Query() query: ExportGardensDto, @RequestSignal() signal: AbortSignal): StreamableFile {
    return new LinesFile(this.gardens.export(query, signal));
  }

  @Get(':id')
  @RequireScope('gardens:read')
  async get(@Param('id', Int64Pipe) id: bigint): Promise<Representation<StoredGardenDto>> {
    return new Representation(await this.gardens.find(id));
  }

  // #region plants
  @Get(':id/plant')
  @RequireScope('plants:read')
  @ApiOperation({
    operationId: 'getPlantOfGarden',
    tags: ['gardens'],
    summary: 'Get the plant of a garden',
    description: 'Fails if the garden has no plant.',
  })
  @ApiParam({
    name: 'id',
    schema: { ...INT64_SCHEMA, example: 2003 },
    description: 'Id of the garden.',
  })
  @ApiOkResponse({ type: StoredPlantDto, description: 'The plant that grows there.' })
  @ApiErrors(
    [ERRORS.parameterNotValid, int64Constraint('id')],
    GARDEN_ERRORS.gardenNotFound,
    GARDEN_ERRORS.gardenHasNoPlant,
  )
  getPlant(@Param('id', Int64Pipe) id: bigint): Promise<StoredPlantDto> {
    return this.gardens.findPlant(id);
  }

  // #endregion
  @Put(':id')
  @RequireScope('gardens:write')
  async replace(
    @Param('id', Int64Pipe) id: bigint,
    @Body() garden: GardenReplacementDto,
    @RequestPrecondition() precondition: Precondition | undefined,
  ): Promise<Representation<StoredGardenDto>> {
    return new Representation(await this.gardens.replace(id, garden, { precondition }));
  }

  @Patch(':id')
  @RequireScope('gardens:write')
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
  remove(
    @Param('id', Int64Pipe) id: bigint,
    @RequestPrecondition() precondition: Precondition | undefined,
  ): Promise<void> {
    return this.gardens.remove(id, { precondition });
  }
}
