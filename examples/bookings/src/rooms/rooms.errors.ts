import { defineErrors } from '@resource-service/framework';

export const ROOM_ERRORS = defineErrors([20, 29], {
  roomNotFound: {
    number: 40420,
    message: 'there is no room with this id',
    remedy: 'Create the room, or check the id',
  },
  roomToRemoveBooked: {
    number: 40920,
    message: 'a room with bookings cannot be removed',
    remedy: 'Keep the room: bookings refer to it, also removed ones',
  },
});
