import { Body, Controller, Get, HttpCode, Param, Post } from '@nestjs/common';
import { Representation } from '../http/answers/representation.js';
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
  @ApiGetPlant()
  async get(@Param('id', PlantIdPipe) id: bigint): Promise<Representation<StoredPlantDto>> {
    return new Representation(await this.plants.get(id));
  }
}
