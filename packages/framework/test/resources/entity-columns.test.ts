import {
  Column,
  Entity,
  JoinColumn,
  JoinTable,
  ManyToMany,
  ManyToOne,
  OneToMany,
  PrimaryColumn,
  TableInheritance,
  VirtualColumn,
} from 'typeorm';
import type { Relation } from 'typeorm';
import type { Type } from '@nestjs/common';
import { expect, it, onTestFinished } from 'vitest';
import { createTestDatabase } from '../support/test-database.js';
import { dataSourceOf } from '../../src/database/data-source.js';
import { EntityColumns } from '../../src/resources/properties/entity-columns.js';
import { INT64_COLUMN } from '../../src/resources/properties/int64.js';
import { BooleanField } from '../../src/resources/properties/kinds/boolean.js';

class Row {
  @PrimaryColumn(INT64_COLUMN)
  readonly id!: bigint;
}

@Entity('owners')
class Owner extends Row {
  @ManyToMany(() => Owner)
  @JoinTable({ name: 'owner_friends' })
  readonly friends?: Relation<Owner>[];

  @OneToMany(() => Pet, ({ owner }) => owner)
  readonly pets?: Relation<Pet>[];
}

@Entity('pets')
class Pet extends Row {
  @Column({ ...INT64_COLUMN, name: 'owner_id' })
  readonly ownerId!: bigint;

  @ManyToOne(() => Owner, ({ pets }) => pets)
  @JoinColumn({ name: 'owner_id' })
  readonly owner?: Owner;
}

class Address {
  @Column('text')
  readonly street!: string;
}

@Entity('neighbours')
class Neighbour extends Row {
  @Column(() => Address)
  readonly address!: Address;
}

@TableInheritance({ column: { type: 'text', name: 'kind' } })
@Entity('animals')
class Animal extends Row {}

@Entity('strays')
class Stray extends Row {
  @ManyToOne(() => Owner)
  readonly owner?: Owner;
}

@Entity('followers')
class Follower extends Row {
  @Column({ ...INT64_COLUMN, name: 'owner_id' })
  readonly ownerId!: bigint;

  @ManyToOne(() => Owner, { eager: true })
  @JoinColumn({ name: 'owner_id' })
  readonly owner?: Owner;
}

@Entity('counted')
class Counted extends Row {
  @VirtualColumn({ query: () => 'SELECT 1' })
  readonly count!: number;
}

@Entity('pairs')
class Pair extends Row {
  @PrimaryColumn(INT64_COLUMN)
  readonly other!: bigint;
}

@Entity('declared_twice')
class Lamp extends Row {
  @Column('boolean', { name: 'is_on' })
  @BooleanField({ description: 'Whether it is on.' })
  readonly isOn!: boolean;
}

@Entity('lists')
class List extends Row {
  @Column('simple-array')
  readonly names!: string[];
}

@Entity('papers')
class Paper extends Row {
  @Column('simple-json')
  readonly content!: object;
}

@Entity('kinds')
class Kind extends Row {
  @Column({ type: 'simple-enum', enum: ['one', 'other'] })
  readonly kind!: string;
}

@Entity('inherited')
class Inherited extends Row {
  @Column('text', { name: 'text' })
  override readonly toString!: () => string;
}

async function columnsOf(entity: Type): Promise<EntityColumns> {
  const database = await createTestDatabase();
  const dataSource = dataSourceOf({
    type: 'postgres',
    url: database.url,
    entities: [entity, Owner, Pet],
  });
  onTestFinished(async () => {
    await dataSource.destroy();
    await database.drop();
  });
  await dataSource.initialize();
  return new EntityColumns(dataSource, entity);
}

it('an entity may have relations, if their columns are properties', async () => {
  const { all } = await columnsOf(Pet);
  expect(all.map(({ property }) => property)).toEqual(['id', 'ownerId']);
  await columnsOf(Owner);
});

const REFUSED: readonly (readonly [entity: Type, why: string])[] = [
  [Neighbour, 'Neighbour.address: a resource has no embedded columns'],
  [Animal, 'Animal: a resource cannot have @TableInheritance()'],
  [Stray, 'Stray.owner: the column of a relation needs a property of its own'],
  [Follower, 'Follower.owner: a resource loads no relations'],
  [Counted, 'Counted.count: a resource computes nothing'],
  [Lamp, 'Lamp.isOn: its decorator declares the column: remove @Column()'],
  [List, 'List.names: it cannot have the type simple-array: use text with the option array'],
  [Paper, 'Paper.content: it cannot have the type simple-json: use jsonb'],
  [Kind, 'Kind.kind: it cannot have the type enum: use text'],
  [Inherited, 'Inherited.toString: no property can have a name that every object has'],
  [Pair, 'Pair must have one primary key'],
];

it.each(REFUSED.map(([entity, why]) => ({ entity, name: entity.name, why })))(
  '$name is refused by name',
  async ({ entity, why }) => {
    await expect(columnsOf(entity)).rejects.toThrow(why);
  },
);
