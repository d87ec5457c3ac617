import { Injectable } from '@nestjs/common';
import { OnChange } from '@resource-service/changes';
import type { RecordedChange } from '@resource-service/changes';
import type { EntityManager } from 'typeorm';
import { BookingsRepository } from '../bookings/bookings.repository.js';
import type { StoredBookingDto } from '../bookings/dto/booking.dto.js';
import { Confirmation } from './confirmation.entity.js';

/** Confirms each change of a booking to its guest, exactly once, in their order, also after a restart. */
@Injectable()
export class ConfirmationsService {
  @OnChange(BookingsRepository, { transaction: true })
  async confirm(
    { position, id, content }: RecordedChange<StoredBookingDto>,
    manager: EntityManager,
  ): Promise<void> {
    const text =
      content === undefined
        ? `Booking ${id} is cancelled.`
        : `Booking ${id}: ${content.nights} nights from ${content.startsOn}, ${content.status}.`;
    await manager.insert(Confirmation, { id: position, bookingId: id, text });
  }
}
