import { Controller, Get, Param, Query } from '@nestjs/common';
import { ApiOperation, ApiParam } from '@nestjs/swagger';
import {
  ApiErrors,
  ApiResource,
  INT64_SCHEMA,
  Int64Pipe,
  RequestActor,
  RequireScope,
} from '@resource-service/framework';
import type { Actor, Page } from '@resource-service/framework';
import { ROOM_ERRORS } from '../rooms/rooms.errors.js';
import { ListBookingsDto, StoredBookingDto } from './dto/booking.dto.js';
import { BOOKING_ERRORS } from './bookings.errors.js';
import { BOOKING_EXAMPLES } from './bookings.examples.js';
import { BookingsService } from './bookings.service.js';

@ApiResource({
  one: 'a booking',
  plural: 'bookings',
  dto: StoredBookingDto,
  errors: { noSuch: BOOKING_ERRORS.bookingNotFound },
  examples: BOOKING_EXAMPLES,
  hasSearch: true,
})
@Controller('rooms/:roomId/bookings')
export class RoomBookingsController {
  constructor(private readonly bookings: BookingsService) {}

  @Get()
  @ApiOperation({ operationId: 'listRoomBookings', summary: 'List the bookings of a room' })
  @ApiParam({ name: 'roomId', description: 'The number of the room.', schema: INT64_SCHEMA })
  @ApiErrors(ROOM_ERRORS.roomNotFound)
  @RequireScope('bookings:read', 'bookings:manage')
  list(
    @Param('roomId', Int64Pipe) roomId: bigint,
    @Query() query: ListBookingsDto,
    @RequestActor() actor: Actor,
  ): Promise<Page<ListBookingsDto>> {
    return this.bookings.listOf(roomId, query, actor);
  }
}
