import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { Plant } from '../plants/plant.entity.js';
import { PlantsModule } from '../plants/plants.module.js';
import { CatalogueController } from './catalogue.controller.js';
import { CatalogueRepository } from './catalogue.repository.js';
import { CatalogueService } from './catalogue.service.js';
import { GroupPages } from './group-pages.js';

/** Lists, replaces, patches and removes stored plants. */
@Module({
  imports: [TypeOrmModule.forFeature([Plant]), PlantsModule],
  controllers: [CatalogueController],
  providers: [CatalogueService, CatalogueRepository, GroupPages],
  exports: [CatalogueService],
})
export class CatalogueModule {}
