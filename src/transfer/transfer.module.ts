import { Module } from '@nestjs/common';
import { CatalogueModule } from '../catalogue/catalogue.module.js';
import { PlantsModule } from '../plants/plants.module.js';
import { ExportService } from './export.service.js';
import { ImportService } from './import.service.js';
import { TransferController } from './transfer.controller.js';

/** Imports and exports whole files of plants. */
@Module({
  imports: [PlantsModule, CatalogueModule],
  controllers: [TransferController],
  providers: [ImportService, ExportService],
})
export class TransferModule {}
