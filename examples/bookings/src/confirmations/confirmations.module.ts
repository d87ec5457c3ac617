import { Module } from '@nestjs/common';
import { ResourceModule } from '@resource-service/framework';
import { Confirmation } from './confirmation.entity.js';
import { ConfirmationsService } from './confirmations.service.js';
import { CreateConfirmations1795880690252 } from './migrations/1795880690252-create-confirmations.js';

@Module({
  imports: [
    ResourceModule.forFeature([Confirmation], { migrations: [CreateConfirmations1795880690252] }),
  ],
  providers: [ConfirmationsService],
})
export class ConfirmationsModule {}
