import {
  Body,
  Controller,
  Delete,
  Get,
  HttpCode,
  Inject,
  Param,
  Patch,
  Put,
  Query,
} from '@nestjs/common';
import { CONFIG } from '../config/config.module.js';
import type { Config } from '../config/config.js';
import type { Precondition } from '../http/answers/entity-tag.js';
import { JsonText } from '../http/answers/json-text.js';
import { Representation } from '../http/answers/representation.js';
import { RequestPrecondition } from '../http/answers/request-precondition.decorator.js';
import { StoredPlantDto } from '../plants/dto/stored-plant.dto.js';
import { PlantIdPipe } from '../plants/plant-id.js';
import {
  ApiDeletePlant,
  ApiListPlants,
  ApiPatchPlant,
  ApiReplacePlant,
} from './catalogue.openapi.js';
import { CatalogueService } from './catalogue.service.js';
import { ListPlantsDto } from './dto/list-plants.dto.js';
import { PlantPatchDto } from './dto/plant-patch.dto.js';
import { PlantReplacementDto } from './dto/plant-replacement.dto.js';
import { linkToNext } from './link.js';

@Controller('plants')
export class CatalogueController {
  private readonly basePath: string;

  constructor(
    private readonly catalogue: CatalogueService,
    @Inject(CONFIG) { http }: Config,
  ) {
    this.basePath = http.basePath;
  }

  @Get()
  @ApiListPlants()
  async list(@Query() query: ListPlantsDto): Promise<JsonText> {
    const { plants, next } = await this.catalogue.list(query);
    const path = `${this.basePath}/plants`;
    const fields = next === undefined ? [] : ['Link', linkToNext(path, query, next)];
    return new JsonText(`[${plants.join()}]`, fields);
  }

  @Put(':id')
  @ApiReplacePlant()
  async replace(
    @Param('id', PlantIdPipe) id: bigint,
    @Body() plant: PlantReplacementDto,
    @RequestPrecondition() precondition: Precondition | undefined,
  ): Promise<Representation<StoredPlantDto>> {
    return new Representation(await this.catalogue.replace(id, plant, precondition));
  }

  @Patch(':id')
  @ApiPatchPlant()
  async patch(
    @Param('id', PlantIdPipe) id: bigint,
    @Body() patch: PlantPatchDto,
    @RequestPrecondition() precondition: Precondition | undefined,
  ): Promise<Representation<StoredPlantDto>> {
    return new Representation(await this.catalogue.patch(id, patch, precondition));
  }

  @Delete(':id')
  @HttpCode(204)
  @ApiDeletePlant()
  remove(
    @Param('id', PlantIdPipe) id: bigint,
    @RequestPrecondition() precondition: Precondition | undefined,
  ): Promise<void> {
    return this.catalogue.remove(id, precondition);
  }
}
