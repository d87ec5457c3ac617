import { Injectable } from '@nestjs/common';
import { GeneratedIdRepository, ServiceException } from '@resource-service/framework';
import { ROOM_FILTERS, StoredRoomDto } from './dto/room.dto.js';
import type { ListRoomsDto } from './dto/room.dto.js';
import { Room } from './room.entity.js';
import { ROOM_ERRORS } from './rooms.errors.js';

@Injectable()
export class RoomsRepository extends GeneratedIdRepository<Room, ListRoomsDto>(Room, {
  name: 'rooms',
  dto: StoredRoomDto,
  filters: ROOM_FILTERS,
  notFound: (id) =>
    new ServiceException(ROOM_ERRORS.roomNotFound, `there is no room with id ${id}`),
  constraints: { bookings_room_id_fkey: ROOM_ERRORS.roomToRemoveBooked },
}) {}
