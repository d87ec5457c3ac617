import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { GroupCommit } from './group-commit.js';
import { GroupLookup } from './group-lookup.js';
import { NameIndexCleaner } from './name-index-cleaner.js';
import { Plant } from './plant.entity.js';
import { PlantsController } from './plants.controller.js';
import { PlantsRepository } from './plants.repository.js';
import { PlantsService } from './plants.service.js';

@Module({
  imports: [TypeOrmModule.forFeature([Plant])],
  controllers: [PlantsController],
  providers: [PlantsService, GroupCommit, GroupLookup, PlantsRepository, NameIndexCleaner],
  exports: [PlantsService, NameIndexCleaner],
})
export class PlantsModule {}
