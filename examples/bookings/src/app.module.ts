import { Module } from '@nestjs/common';
import { APP_FILTER, APP_GUARD, APP_PIPE } from '@nestjs/core';
import { ScheduleModule } from '@nestjs/schedule';
import { ChangeConsumersModule } from '@resource-service/changes';
import { AuthGuard, DtoPipe, ErrorFilter, FrameworkModule } from '@resource-service/framework';
import { BookingsModule } from './bookings/bookings.module.js';
import { CompletionModule } from './completion/completion.module.js';
import { ConfirmationsModule } from './confirmations/confirmations.module.js';
import { GuestVerifier } from './guests/guest.verifier.js';
import { IDENTITY } from './identity.js';
import { RoomsModule } from './rooms/rooms.module.js';
import { VARIABLES } from './variables.js';

@Module({
  imports: [
    FrameworkModule.forRoot(IDENTITY, {
      variables: VARIABLES,
      auth: { verifiers: [GuestVerifier] },
    }),
    ScheduleModule.forRoot(),
    ChangeConsumersModule,
    RoomsModule,
    BookingsModule,
    CompletionModule,
    ConfirmationsModule,
  ],
  providers: [
    { provide: APP_GUARD, useClass: AuthGuard },
    { provide: APP_PIPE, useClass: DtoPipe },
    { provide: APP_FILTER, useClass: ErrorFilter },
  ],
})
export class AppModule {}
