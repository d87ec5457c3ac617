import { Module } from '@nestjs/common';
import { BookingsModule } from '../bookings/bookings.module.js';
import { CompletionJob } from './completion.job.js';

@Module({ imports: [BookingsModule], providers: [CompletionJob] })
export class CompletionModule {}
