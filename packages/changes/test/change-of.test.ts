import { Module } from '@nestjs/common';
import { Exclude } from 'class-transformer';
import { Column, Entity, PrimaryColumn } from 'typeorm';
import { describe, expect, it } from 'vitest';
import { createDetachedApp } from '../../framework/src/app/detached-app.js';
import {
  FrameworkModule,
  INT64_COLUMN,
  Int64Field,
  ResourceModule,
  TextField,
} from '../../framework/src/index.js';
import { requireActor } from '../../framework/src/resources/recording/actor.js';
import { ENHANCERS } from '../../framework/test/support/enhancers.js';
import { IDENTITY } from '../../framework/test/support/identity.js';
import { ChangeOf } from '../src/index.js';

describe('a change that is recorded', () => {
  it('cannot be made without its principal and request', () => {
    expect(() => requireActor(undefined)).toThrow(/needs an actor/);
  });
});

describe('an entity whose changes are recorded', () => {
  it('has no property with the name that a record gives to another one: the start names all', async () => {
    @Entity('visits')
    class Visit {
      @PrimaryColumn(INT64_COLUMN)
      @Int64Field({ description: 'The id.', example: 7 })
      readonly id!: bigint;

      @Column('text')
      @TextField({ description: 'What it is for.', example: 'a' })
      readonly kind!: string;

      @Column('text', { name: 'visit_kind' })
      @TextField({ description: 'What it is for, too.', example: 'a' })
      readonly content_kind!: string;
    }
    @Entity('stays')
    class Stay {
      @PrimaryColumn(INT64_COLUMN)
      @Int64Field({ description: 'The id.', example: 7 })
      readonly id!: bigint;

      @Column('text', { name: 'request_id' })
      @TextField({ description: 'The request.', example: 'a' })
      readonly request!: string;

      @Column('text', { name: 'content_request_id' })
      @Exclude()
      readonly secret!: string;
    }
    @Entity('visit_changes')
    class VisitChange extends ChangeOf(Visit) {}
    @Entity('stay_changes')
    class StayChange extends ChangeOf(Stay) {}
    const entities = [Visit, VisitChange, Stay, StayChange];
    @Module({ imports: [ResourceModule.forFeature(entities, { migrations: [] })] })
    class VisitsModule {}
    @Module({ imports: [FrameworkModule.forRoot(IDENTITY), VisitsModule], providers: ENHANCERS })
    class AppModule {}

    await expect(createDetachedApp(AppModule)).rejects.toThrow(
      [
        'Visit.kind is called content_kind in a record, as another property is: rename one of them',
        'Stay.request is called content_request_id in a record, as another property is: rename one of them',
      ].join('\n'),
    );
  });

  it.each([
    [50, 'starts'],
    [51, 'the name x{43}_changes must have at most 50 bytes'],
  ])('has records in a table whose name has %i bytes, or not', async (bytes, expected) => {
    @Entity('trips')
    class Trip {
      @PrimaryColumn(INT64_COLUMN)
      @Int64Field({ description: 'The id.', example: 7 })
      readonly id!: bigint;
    }
    @Entity('_changes'.padStart(bytes, 'x'))
    class TripChange extends ChangeOf(Trip) {}
    @Module({ imports: [ResourceModule.forFeature([Trip, TripChange], { migrations: [] })] })
    class TripsModule {}
    @Module({ imports: [FrameworkModule.forRoot(IDENTITY), TripsModule], providers: ENHANCERS })
    class AppModule {}

    const started = createDetachedApp(AppModule).then(async (app) => {
      await app.close();
      return 'starts';
    });
    const result = await started.catch(({ message }: Error) => message);
    expect(result).toMatch(new RegExp(expected));
  });
});
