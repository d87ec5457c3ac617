import { Injectable } from '@nestjs/common';

/** When to try again: in tests, three days pass at once. Leases go by the clock of the database, which all replicas share. */
@Injectable()
export class Clock {
  /** As of `Date.now()`. */
  now(): number {
    return Date.now();
  }
}
