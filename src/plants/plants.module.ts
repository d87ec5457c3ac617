import { Module } from '@nestjs/common';
import { GroupCommit } from './group-commit.js';
import { PlantsController } from './plants.controller.js';
import { PlantsRepository } from './plants.repository.js';
import { PlantsService } from './plants.service.js';

@Module({
  controllers: [PlantsController],
  providers: [PlantsService, GroupCommit, PlantsRepository],
})
export class PlantsModule {}
