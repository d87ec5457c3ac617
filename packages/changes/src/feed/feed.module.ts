import { Module } from '@nestjs/common';
import type { DynamicModule } from '@nestjs/common';
import { feedController } from './feed.controller.js';
import type { FeedOptions } from './feed.controller.js';

/** The operations on the changes of a resource, unless `CHANGES_ENABLED` is false. */
@Module({})
export class FeedModule {
  static forFeature(options: FeedOptions): DynamicModule {
    return {
      module: FeedModule,
      imports: [options.module],
      controllers: [feedController(options)],
    };
  }
}
