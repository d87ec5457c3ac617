import { defineErrors } from '@resource-service/framework';

export const BOOKING_ERRORS = defineErrors([30, 39], {
  bookingNotFound: {
    number: 40430,
    message: 'there is no booking with this id',
    remedy: 'Create the booking, or check the id and whose booking it is',
  },
  bookingRoomTaken: {
    number: 40930,
    message: 'the room is booked for one of these nights',
    remedy: 'Choose other nights or another room',
  },
  bookingRoomNotFound: {
    number: 40931,
    message: 'there is no room with the id in roomId',
    remedy: 'Create the room first, or check the id',
  },
});
