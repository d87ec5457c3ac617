import { ChangeOf } from '@resource-service/changes';
import { Entity, Index } from 'typeorm';
import { Booking } from '../bookings/booking.entity.js';

/** A record of a change of a booking. Guests see their own bookings only, so there is no feed of all. */
@Index('booking_changes_id_position_idx', ['id', 'position'])
@Entity('booking_changes')
export class BookingChange extends ChangeOf(Booking) {}
