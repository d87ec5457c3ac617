import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { NameIndexCleaner } from './name-index-cleaner.js';
import { Plant } from './plant.entity.js';
import { PlantsController } from './plants.controller.js';
import { PlantsService } from './plants.service.js';
import { TrigramCheck } from './trigram-check.js';

@Module({
  imports: [TypeOrmModule.forFeature([Plant])],
  controllers: [PlantsController],
  providers: [PlantsService, NameIndexCleaner, TrigramCheck],
  exports: [PlantsService],
})
export class PlantsModule {}
