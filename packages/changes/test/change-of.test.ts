import { Column, Entity, PrimaryColumn } from 'typeorm';
import { describe, expect, it } from 'vitest';
import { INT64_COLUMN, Int64Field } from '../../framework/src/resources/properties/int64.js';
import { requireActor } from '../../framework/src/resources/recording/actor.js';
import { TextField } from '../../framework/src/resources/properties/text.js';
import { ChangeOf } from '../src/index.js';

describe('a change that is recorded', () => {
  it('cannot be made without its principal and request', () => {
    expect(() => requireActor(undefined)).toThrow(/needs an actor/);
  });
});

describe('an entity whose changes are recorded', () => {
  it('has no column with the name of a column of the record', () => {
    @Entity('visits')
    class Visit {
      @PrimaryColumn(INT64_COLUMN)
      @Int64Field({ description: 'The id.', example: 7 })
      readonly id!: bigint;

      @Column('text', { name: 'request_id' })
      @TextField({ description: 'The request.', example: 'a' })
      readonly request!: string;
    }
    expect(() => ChangeOf(Visit)).toThrow('Visit.request has the name of a column of a record');
  });

  it('has no property with the name of a property of the record, whatever its column is called', () => {
    @Entity('visits')
    class Visit {
      @PrimaryColumn(INT64_COLUMN)
      @Int64Field({ description: 'The id.', example: 7 })
      readonly id!: bigint;

      @Column('text', { name: 'visit_kind' })
      @TextField({ description: 'What it is for.', example: 'a' })
      readonly kind!: string;
    }
    expect(() => ChangeOf(Visit)).toThrow(
      'Visit.kind has the name of a property of a record: rename the property, and keep its column',
    );
  });
});
