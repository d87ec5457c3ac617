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
import {
  BookingPatchDto,
  ListBookingsDto,
  NewBookingDto,
  StoredBookingDto,
} from './dto/booking.dto.js';
import { BOOKING_ERRORS } from './bookings.errors.js';
import { BOOKING_EXAMPLES } from './bookings.examples.js';
import { BookingsService } from './bookings.service.js';

@ApiResource({
  one: 'a booking',
  plural: 'bookings',
  dto: StoredBookingDto,
  errors: {
    noSuch: BOOKING_ERRORS.bookingNotFound,
    others: [BOOKING_ERRORS.bookingRoomTaken, BOOKING_ERRORS.bookingRoomNotFound],
  },
  examples: BOOKING_EXAMPLES,
  hasSearch: true,
})
@Controller('bookings')
export class BookingsController {
  constructor(private readonly bookings: BookingsService) {}

  @Post()
  @RequireScope('bookings:write', 'bookings:manage')
  async create(
    @Body() booking: NewBookingDto,
    @RequestActor() actor: Actor,
    @RequestIdempotencyKey() key: string | undefined,
  ): Promise<Created<StoredBookingDto>> {
    return new Created(await this.bookings.create(booking, actor, key));
  }

  @Get()
  @RequireScope('bookings:read', 'bookings:manage')
  list(
    @Query() query: ListBookingsDto,
    @RequestActor() actor: Actor,
  ): Promise<Page<ListBookingsDto>> {
    return this.bookings.list(query, actor);
  }

  @Get(':id')
  @RequireScope('bookings:read', 'bookings:manage')
  async get(
    @Param('id', Int64Pipe) id: bigint,
    @RequestActor() actor: Actor,
  ): Promise<Representation<StoredBookingDto>> {
    return new Representation(await this.bookings.find(id, actor));
  }

  @Patch(':id')
  @RequireScope('bookings:write', 'bookings:manage')
  async patch(
    @Param('id', Int64Pipe) id: bigint,
    @Body() patch: BookingPatchDto,
    @RequestActor() actor: Actor,
    @RequestPrecondition() precondition: Precondition | undefined,
  ): Promise<Representation<StoredBookingDto>> {
    return new Representation(await this.bookings.patch(id, patch, { actor, precondition }));
  }

  @Delete(':id')
  @HttpCode(204)
  @RequireScope('bookings:write', 'bookings:manage')
  remove(
    @Param('id', Int64Pipe) id: bigint,
    @RequestActor() actor: Actor,
    @RequestPrecondition() precondition: Precondition | undefined,
  ): Promise<void> {
    return this.bookings.remove(id, { actor, precondition });
  }

  @Post(':id/restore')
  @HttpCode(200)
  @RequireScope('bookings:write', 'bookings:manage')
  async restore(
    @Param('id', Int64Pipe) id: bigint,
    @RequestActor() actor: Actor,
    @RequestPrecondition() precondition: Precondition | undefined,
  ): Promise<Representation<StoredBookingDto>> {
    return new Representation(await this.bookings.restore(id, { actor, precondition }));
  }
}
