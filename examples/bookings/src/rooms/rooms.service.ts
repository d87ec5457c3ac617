import { Injectable } from '@nestjs/common';
import type { CreateContext, Page, UpdateContext } from '@resource-service/framework';
import type { ListRoomsDto, NewRoomDto, RoomPatchDto, StoredRoomDto } from './dto/room.dto.js';
import { RoomsRepository } from './rooms.repository.js';

@Injectable()
export class RoomsService {
  constructor(private readonly rooms: RoomsRepository) {}

  create(room: NewRoomDto, context: CreateContext): Promise<StoredRoomDto> {
    return this.rooms.create(room, context);
  }

  list(query: ListRoomsDto): Promise<Page<ListRoomsDto>> {
    return this.rooms.list(query);
  }

  find(id: bigint): Promise<StoredRoomDto> {
    return this.rooms.find(id);
  }

  patch(id: bigint, patch: RoomPatchDto, context: UpdateContext): Promise<StoredRoomDto> {
    return this.rooms.patch(id, patch, context);
  }

  remove(id: bigint, context: UpdateContext): Promise<void> {
    return this.rooms.remove(id, context);
  }
}
