import { Module } from '@nestjs/common';
import type { DynamicModule } from '@nestjs/common';
import type { Feed } from './feed.js';
import { docsOf, feedController } from './feed.controller.js';
import type { FeedOptions } from './feed.controller.js';
import { PublishedFeed } from './published-feed.js';

/** The operations on the changes of a resource, unless `CHANGES_ENABLED` is false. */
@Module({})
export class FeedModule {
  static forFeature(options: FeedOptions): DynamicModule {
    const published = {
      provide: PublishedFeed,
      inject: [options.repository],
      useFactory: ({ changes }: { readonly changes: Feed }) =>
        new PublishedFeed(changes, docsOf(options)),
    };
    return {
      module: FeedModule,
      imports: [options.module],
      controllers: [feedController(options)],
      providers: [published],
    };
  }
}
