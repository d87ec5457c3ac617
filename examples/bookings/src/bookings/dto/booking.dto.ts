import { ApiSchema } from '@nestjs/swagger';
import {
  BodyTypes,
  DtoOf,
  isAtLeast,
  isAtMost,
  isIn,
  ListOf,
  NewOf,
  NoOtherParameters,
  PATCH_TYPES,
  PatchOf,
} from '@resource-service/framework';
import { Booking } from '../booking.entity.js';

@ApiSchema({ name: 'NewBooking', description: 'A booking to create.' })
export class NewBookingDto extends NewOf(Booking) {}

@ApiSchema({ name: 'StoredBooking', description: 'A booking with its id.' })
export class StoredBookingDto extends DtoOf(Booking) {}

@BodyTypes(...PATCH_TYPES)
@ApiSchema({
  name: 'BookingPatch',
  description: 'The fields to change. Fields that are absent stay as they are.',
})
export class BookingPatchDto extends PatchOf(Booking) {}

/** The parameters that filter lists. */
export const BOOKING_FILTERS = {
  startsOnFrom: isAtLeast('startsOn'),
  startsOnTo: isAtMost('startsOn'),
  status: isIn('status'),
};

@NoOtherParameters()
export class ListBookingsDto extends ListOf(Booking, BOOKING_FILTERS) {}
