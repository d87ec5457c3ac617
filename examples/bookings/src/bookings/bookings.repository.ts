import { Injectable } from '@nestjs/common';
import { recordChanges } from '@resource-service/changes';
import type { Feed } from '@resource-service/changes';
import { GeneratedIdRepository, hasScope, ServiceException } from '@resource-service/framework';
import { BookingChange } from '../booking-changes/booking-change.entity.js';
import { BOOKING_FILTERS, StoredBookingDto } from './dto/booking.dto.js';
import type { ListBookingsDto } from './dto/booking.dto.js';
import { Booking } from './booking.entity.js';
import { BOOKING_ERRORS } from './bookings.errors.js';

@Injectable()
export class BookingsRepository extends GeneratedIdRepository<Booking, ListBookingsDto, Feed>(
  Booking,
  {
    name: 'bookings',
    dto: StoredBookingDto,
    filters: BOOKING_FILTERS,
    // Guests see and change their own bookings.
    visible: (principal) =>
      hasScope(principal, 'bookings:manage') ? 'all' : { owner: principal.id },
    notFound: (id) =>
      new ServiceException(BOOKING_ERRORS.bookingNotFound, `there is no booking with id ${id}`),
    constraints: {
      bookings_nights_excl: BOOKING_ERRORS.bookingRoomTaken,
      bookings_room_id_fkey: BOOKING_ERRORS.bookingRoomNotFound,
    },
    changes: recordChanges(BookingChange, 'booking'),
  },
) {}
