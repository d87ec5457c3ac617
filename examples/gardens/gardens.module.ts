import { Module } from '@nestjs/common';
import { ResourceModule } from '@resource-service/framework';
import { Garden } from './garden.entity.js';
import { GardensController } from './gardens.controller.js';
import { GardensRepository } from './gardens.repository.js';
import { GardensService } from './gardens.service.js';
import { CreateGardens1795395600000 } from './migrations/1795395600000-create-gardens.js';
// #region plants
import { PlantsModule } from '../../src/plants/plants.module.js';
// #endregion

@Module({
  imports: [
    ResourceModule.forFeature([Garden], { migrations: [CreateGardens1795395600000] }),
    // #region plants
    PlantsModule,
    // #endregion
  ],
  controllers: [GardensController],
  providers: [GardensService, GardensRepository],
})
export class GardensModule {}
