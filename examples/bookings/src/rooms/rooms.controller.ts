import { Body, Controller, Delete, Get, HttpCode, Param, Patch, Post, Query } from '@nestjs/common';
import {
  ApiResource,
  Created,
  Int64Pipe,
  Representation,
  RequestActor,
  RequestIdempotencyKey,
  RequestPrecondition,
  RequireScope,
} from '@resource-service/framework';
import type { Actor, Page, Precondition } from '@resource-service/framework';
import { StoredRoomDto, RoomPatchDto, ListRoomsDto, NewRoomDto } from './dto/room.dto.js';
import { ROOM_ERRORS } from './rooms.errors.js';
import { ROOM_EXAMPLES } from './rooms.examples.js';
import { RoomsService } from './rooms.service.js';

@ApiResource({
  one: 'a room',
  plural: 'rooms',
  dto: StoredRoomDto,
  errors: { noSuch: ROOM_ERRORS.roomNotFound, removal: [ROOM_ERRORS.roomToRemoveBooked] },
  examples: ROOM_EXAMPLES,
  hasSearch: true,
})
@Controller('rooms')
export class RoomsController {
  constructor(private readonly rooms: RoomsService) {}

  @Post()
  @RequireScope('rooms:write')
  async create(
    @Body() room: NewRoomDto,
    @RequestActor() actor: Actor,
    @RequestIdempotencyKey() idempotencyKey: string | undefined,
  ): Promise<Created<StoredRoomDto>> {
    return new Created(await this.rooms.create(room, { actor, idempotencyKey }));
  }

  @Get()
  @RequireScope('rooms:read')
  list(@Query() query: ListRoomsDto): Promise<Page<ListRoomsDto>> {
    return this.rooms.list(query);
  }

  @Get(':id')
  @RequireScope('rooms:read')
  async get(@Param('id', Int64Pipe) id: bigint): Promise<Representation<StoredRoomDto>> {
    return new Representation(await this.rooms.find(id));
  }

  @Patch(':id')
  @RequireScope('rooms:write')
  async patch(
    @Param('id', Int64Pipe) id: bigint,
    @Body() patch: RoomPatchDto,
    @RequestActor() actor: Actor,
    @RequestPrecondition() precondition: Precondition | undefined,
  ): Promise<Representation<StoredRoomDto>> {
    return new Representation(await this.rooms.patch(id, patch, { actor, precondition }));
  }

  @Delete(':id')
  @HttpCode(204)
  @RequireScope('rooms:write')
  remove(
    @Param('id', Int64Pipe) id: bigint,
    @RequestActor() actor: Actor,
    @RequestPrecondition() precondition: Precondition | undefined,
  ): Promise<void> {
    return this.rooms.remove(id, { actor, precondition });
  }
}
