import { Module } from '@nestjs/common';
import { ResourceModule } from '@resource-service/framework';
import { Room } from './room.entity.js';
import { RoomsController } from './rooms.controller.js';
import { RoomsRepository } from './rooms.repository.js';
import { RoomsService } from './rooms.service.js';
import { CreateRooms1795880668861 } from './migrations/1795880668861-create-rooms.js';

@Module({
  imports: [ResourceModule.forFeature([Room], { migrations: [CreateRooms1795880668861] })],
  controllers: [RoomsController],
  providers: [RoomsService, RoomsRepository],
  exports: [RoomsRepository, ResourceModule],
})
export class RoomsModule {}
