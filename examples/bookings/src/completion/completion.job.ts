import { Injectable } from '@nestjs/common';
import { Interval } from '@nestjs/schedule';
import { InjectRepository } from '@nestjs/typeorm';
import { Actor, Locks } from '@resource-service/framework';
import { Repository } from 'typeorm';
import { Booking } from '../bookings/booking.entity.js';
import { BookingsRepository } from '../bookings/bookings.repository.js';

const EVERY_HOUR = 3_600_000;

const BATCH = 500;

/** Completes the bookings whose last night is over. */
@Injectable()
export class CompletionJob {
  constructor(
    @InjectRepository(Booking) private readonly rows: Repository<Booking>,
    private readonly bookings: BookingsRepository,
    private readonly locks: Locks,
  ) {}

  /** Returns whether it ran: not if another replica runs it now. */
  @Interval(EVERY_HOUR)
  run(): Promise<boolean> {
    return this.locks.tryRun('complete-bookings', (signal) => this.complete(signal));
  }

  private async complete(signal: AbortSignal): Promise<void> {
    const actor = Actor.system('complete-bookings');
    let count = BATCH;
    while (count === BATCH && !signal.aborted) {
      const past = await this.rows
        .createQueryBuilder('booking')
        .select('booking.id')
        .where(`booking.status = 'booked'`)
        .andWhere('booking.startsOn + booking.nights <= current_date')
        .limit(BATCH)
        .getMany();
      const ids = past.map(({ id }) => id);
      await this.bookings.patchMany(ids, { status: 'completed' }, { actor });
      count = ids.length;
    }
  }
}
