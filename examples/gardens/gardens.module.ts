import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { Garden } from './garden.entity.js';
import { GardensController } from './gardens.controller.js';
import { GardensService } from './gardens.service.js';
// #region plants
import { PlantsModule } from '../../src/plants/plants.module.js';
// #endregion

@Module({
  imports: [
    TypeOrmModule.forFeature([Garden]),
    // #region plants
    PlantsModule,
    // #endregion
  ],
  controllers: [GardensController],
  providers: [GardensService],
})
export class GardensModule {}
