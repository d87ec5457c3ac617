import { Module } from '@nestjs/common';
import { ResourceModule } from '@resource-service/framework';
import { BookingChange } from '../booking-changes/booking-change.entity.js';
import { CreateBookingChanges1795880690251 } from '../booking-changes/migrations/1795880690251-create-booking-changes.js';
import { RoomsModule } from '../rooms/rooms.module.js';
import { Booking } from './booking.entity.js';
import { BookingsController } from './bookings.controller.js';
import { BookingsRepository } from './bookings.repository.js';
import { BookingsService } from './bookings.service.js';
import { CreateBookings1795880690250 } from './migrations/1795880690250-create-bookings.js';
import { RoomBookingsController } from './room-bookings.controller.js';

@Module({
  imports: [
    ResourceModule.forFeature([Booking, BookingChange], {
      migrations: [CreateBookings1795880690250, CreateBookingChanges1795880690251],
    }),
    RoomsModule,
  ],
  controllers: [BookingsController, RoomBookingsController],
  providers: [BookingsService, BookingsRepository],
  exports: [BookingsRepository, ResourceModule],
})
export class BookingsModule {}
