import { Module } from '@nestjs/common';
import { DiscoveryModule } from '@nestjs/core';
import { ResourceModule } from '@resource-service/framework';
import { ChangeConsumer } from './change-consumer.entity.js';
import { ChangeConsumers } from './change-consumers.js';
import { CreateChangeConsumers1795856400000 } from './migrations/1795856400000-create-change-consumers.js';

/** For the module of the application: runs the methods with `@OnChange()`, and has the table of their positions. */
@Module({
  imports: [
    DiscoveryModule,
    ResourceModule.forFeature([ChangeConsumer], {
      migrations: [CreateChangeConsumers1795856400000],
    }),
  ],
  providers: [ChangeConsumers],
  exports: [ChangeConsumers],
})
export class ChangeConsumersModule {}
