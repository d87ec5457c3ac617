import { Module } from '@nestjs/common';
import { ResourceModule } from '@resource-service/framework';
import { Tool } from './tool.entity.js';
import { ToolsController } from './tools.controller.js';
import { ToolsRepository } from './tools.repository.js';
import { ToolsService } from './tools.service.js';
import { AddConditions1795869600000 } from './migrations/1795869600000-add-conditions.js';
import { CreateTools1795722647309 } from './migrations/1795722647309-create-tools.js';

@Module({
  imports: [
    ResourceModule.forFeature([Tool], {
      migrations: [CreateTools1795722647309, AddConditions1795869600000],
    }),
  ],
  controllers: [ToolsController],
  providers: [ToolsService, ToolsRepository],
  exports: [ToolsRepository],
})
export class ToolsModule {}
