import { Column, CreateDateColumn, Entity, PrimaryColumn, PrimaryGeneratedColumn } from 'typeorm';
import { describe, expect, expectTypeOf, it } from 'vitest';
import {
  BooleanField,
  DtoOf,
  INT64_COLUMN,
  Int64Field,
  IntegerField,
  NewOf,
  PatchOf,
  ReplacementOf,
  ServiceManaged,
  TextField,
  TIMESTAMP_COLUMN,
  TimestampField,
} from '../../src/index.js';
import type { Filled, Lasting, Managed } from '../../src/index.js';
import { validatedPropertiesOf } from '../../src/http/body/dto.pipe.js';

@Entity('typed')
class Made {
  @PrimaryGeneratedColumn('identity', INT64_COLUMN)
  @Int64Field({ description: 'The id.' })
  readonly id!: Filled<bigint>;

  @Column('text')
  @TextField({ description: 'The name.' })
  readonly name!: string;

  @Column({ type: 'text', update: false, nullable: true })
  @TextField({ description: 'The origin.', isOptional: true })
  readonly origin!: Lasting<string | null>;

  @Column({ type: 'integer', insert: false, update: false, nullable: true })
  @IntegerField({ minimum: 0, maximum: 9, description: 'How often.', isOptional: true })
  readonly count!: Filled<number | null>;

  @ServiceManaged()
  @BooleanField({ description: 'Whether it is approved.' })
  readonly isApproved!: Managed<boolean>;

  @CreateDateColumn(TIMESTAMP_COLUMN)
  @TimestampField({ description: 'When.' })
  readonly createdAt!: Filled<Date>;
}

@Entity('chosen_types')
class Chosen {
  @PrimaryColumn(INT64_COLUMN)
  @Int64Field({ description: 'The id.' })
  readonly id!: bigint;

  @Column('text', { nullable: true })
  @TextField({ description: 'The name.', isOptional: true })
  readonly name!: string | null;
}

describe('the type of a DTO has the members that the DTO has', () => {
  it('of an entity of which the database fills a part', () => {
    class NewDto extends NewOf(Made) {}
    class ReplacementDto extends ReplacementOf(Made) {}
    class PatchDto extends PatchOf(Made) {}
    class StoredDto extends DtoOf(Made) {}
    expect([...validatedPropertiesOf(NewDto)]).toEqual(['name', 'origin']);
    expectTypeOf<keyof NewDto>().toEqualTypeOf<'name' | 'origin'>();
    expect([...validatedPropertiesOf(ReplacementDto)]).toEqual(['id', 'name']);
    expectTypeOf<keyof ReplacementDto>().toEqualTypeOf<'id' | 'name'>();
    expect([...validatedPropertiesOf(PatchDto)]).toEqual(['id', 'name']);
    expectTypeOf<keyof PatchDto>().toEqualTypeOf<'id' | 'name'>();
    expectTypeOf<keyof StoredDto>().toEqualTypeOf<keyof Made>();
    // Values are assigned as without the marks.
    const stored: StoredDto = {
      id: 7n,
      name: 'Saw',
      count: 1,
      isApproved: true,
      createdAt: new Date(0),
    };
    expectTypeOf(stored.id).toExtend<bigint>();
    expectTypeOf(stored.createdAt).toExtend<Date>();
    expectTypeOf(stored.isApproved).toExtend<boolean>();
    expectTypeOf<NewDto>().toExtend<{ readonly name: string; readonly origin?: string }>();
    expect(stored.createdAt.getTime()).toBe(0);
  });

  it('of an entity whose clients choose the id', () => {
    class NewDto extends NewOf(Chosen) {}
    class ReplacementDto extends ReplacementOf(Chosen) {}
    expect([...validatedPropertiesOf(NewDto)]).toEqual(['id', 'name']);
    expectTypeOf<NewDto>().toExtend<{ readonly id: bigint; readonly name?: string }>();
    expectTypeOf<ReplacementDto>().toExtend<{ readonly id?: bigint; readonly name?: string }>();
  });
});
