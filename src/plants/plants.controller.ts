import { Body, Controller, Get, HttpCode, Param, Post, UseInterceptors } from '@nestjs/common';
import { EntityTagInterceptor } from '../http/entity-tag.interceptor.js';
import { NewPlantDto } from './dto/new-plant.dto.js';
import { PlantDto } from './dto/plant.dto.js';
import { StoredPlantDto } from './dto/stored-plant.dto.js';
import { PlantIdPipe } from './plant-id.js';
import { ApiCreatePlant, ApiGetPlant } from './plants.openapi.js';
import { PlantsService } from './plants.service.js';

@Controller('plants')
export class PlantsController {
  constructor(private readonly plants: PlantsService) {}

  @Post()
  @HttpCode(200)
  @ApiCreatePlant()
  create(@Body() plant: NewPlantDto): Promise<PlantDto> {
    return this.plants.create(plant);
  }

  @Get(':id')
  @UseInterceptors(EntityTagInterceptor)
  @ApiGetPlant()
  get(@Param('id', PlantIdPipe) id: bigint): Promise<StoredPlantDto> {
    return this.plants.get(id);
  }
}
