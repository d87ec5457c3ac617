import { ApiSchema } from '@nestjs/swagger';
import {
  BodyTypes,
  DtoOf,
  isIn,
  ListOf,
  NewOf,
  NoOtherParameters,
  PATCH_TYPES,
  PatchOf,
} from '@resource-service/framework';
import { Room } from '../room.entity.js';

@ApiSchema({ name: 'NewRoom', description: 'A room to create.' })
export class NewRoomDto extends NewOf(Room) {}

@ApiSchema({ name: 'StoredRoom', description: 'A room with its id.' })
export class StoredRoomDto extends DtoOf(Room) {}

@BodyTypes(...PATCH_TYPES)
@ApiSchema({
  name: 'RoomPatch',
  description: 'The fields to change. Fields that are absent stay as they are.',
})
export class RoomPatchDto extends PatchOf(Room) {}

/** The parameters that filter lists. */
export const ROOM_FILTERS = { kind: isIn('kind') };

@NoOtherParameters()
export class ListRoomsDto extends ListOf(Room, ROOM_FILTERS) {}
