import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { ServiceException } from '@resource-service/framework';
import type { Actor, Page, UpdateContext } from '@resource-service/framework';
import { Repository } from 'typeorm';
import { Room } from '../rooms/room.entity.js';
import { RoomsRepository } from '../rooms/rooms.repository.js';
import type {
  BookingPatchDto,
  ListBookingsDto,
  NewBookingDto,
  StoredBookingDto,
} from './dto/booking.dto.js';
import { BOOKING_ERRORS } from './bookings.errors.js';
import { BookingsRepository } from './bookings.repository.js';

@Injectable()
export class BookingsService {
  constructor(
    private readonly bookings: BookingsRepository,
    private readonly rooms: RoomsRepository,
    @InjectRepository(Room) private readonly roomRows: Repository<Room>,
  ) {}

  /**
   * Books a room at its present price.
   *
   * @param idempotencyKey of a client that may send the request again: it then gets the price of the first one
   * @throws ServiceException `booking-room-not-found`, `booking-room-taken`, `idempotency-key-reused`
   */
  async create(
    booking: NewBookingDto,
    actor: Actor,
    idempotencyKey: string | undefined,
  ): Promise<StoredBookingDto> {
    const room = await this.roomRows.findOneBy({ id: booking.roomId });
    if (room === null) throw new ServiceException(BOOKING_ERRORS.bookingRoomNotFound);
    const content = { ...booking, price: room.price, owner: actor.principal.id };
    return this.bookings.create(content, { actor, idempotencyKey });
  }

  list(query: ListBookingsDto, actor: Actor): Promise<Page<ListBookingsDto>> {
    return this.bookings.list(query, { actor });
  }

  /** @throws ServiceException `room-not-found` */
  async listOf(
    roomId: bigint,
    query: ListBookingsDto,
    actor: Actor,
  ): Promise<Page<ListBookingsDto>> {
    await this.rooms.find(roomId);
    return this.bookings.list(query, { actor, where: { roomId } });
  }

  find(id: bigint, actor: Actor): Promise<StoredBookingDto> {
    return this.bookings.find(id, { actor });
  }

  patch(id: bigint, patch: BookingPatchDto, context: UpdateContext): Promise<StoredBookingDto> {
    return this.bookings.patch(id, patch, context);
  }

  remove(id: bigint, context: UpdateContext): Promise<void> {
    return this.bookings.remove(id, context);
  }

  /** @throws ServiceException `booking-not-found`, `booking-room-taken` */
  restore(id: bigint, context: UpdateContext): Promise<StoredBookingDto> {
    return this.bookings.restore(id, context);
  }
}
