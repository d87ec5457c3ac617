import {
  Body,
  Controller,
  Get,
  HttpCode,
  Injectable,
  Param,
  Patch,
  Post,
  Put,
} from '@nestjs/common';
import type { OnApplicationBootstrap, OnModuleInit, Type } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { Exclude } from 'class-transformer';
import { getMetadataStorage } from 'class-validator';
import { Column, CreateDateColumn, Entity, PrimaryColumn, Repository, Unique } from 'typeorm';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { RequireScope } from '../../src/auth/scopes/require-scope.decorator.js';
import { ServiceException } from '../../src/errors/service.exception.js';
import type { Precondition } from '../../src/http/responses/entity-tag.js';
import { Representation } from '../../src/http/responses/representation.js';
import { RequestPrecondition } from '../../src/http/responses/entity-tag.js';
import { DtoOf, NewOf, PatchOf, ReplacementOf } from '../../src/resources/properties/dto-of.js';
import { INT64_COLUMN, Int64Field, Int64Pipe } from '../../src/resources/properties/int64.js';
import { ListParameters } from '../../src/resources/reads/page-parameters.js';
import { isEqual } from '../../src/resources/reads/column-filter.js';
import { IntegerField } from '../../src/resources/properties/integer.js';
import type { Resource } from '../../src/resources/resource.js';
import { Resources } from '../../src/resources/resources.js';
import { TextField } from '../../src/resources/properties/text.js';
import { TIMESTAMP_COLUMN, TimestampField } from '../../src/resources/properties/timestamp.js';
import { errorsOf } from '../support/errors.js';
import { appOf, migrationOf, runningService } from '../support/running-service.js';
import { Any } from '../support/any.js';

function toNumber(text: string | null): number | null {
  return text === null ? null : Number(text);
}

@Unique('samples_large_key', ['large'])
@Entity('samples')
class Sample {
  @PrimaryColumn(INT64_COLUMN)
  @Int64Field({ description: 'Its id.' })
  readonly id!: bigint;

  @Column('text', { name: 'a "strange" name', nullable: true })
  @TextField({ description: 'A text.', isOptional: true })
  readonly text!: string | null;

  @Column({ ...INT64_COLUMN, nullable: true })
  @Int64Field({ description: 'A number.', isOptional: true })
  readonly large!: bigint | null;

  @Column('smallint', { nullable: true })
  @IntegerField({ minimum: -5, maximum: 99, description: 'A small number.', isOptional: true })
  readonly small!: number | null;

  @Column('boolean', { nullable: true })
  @Any()
  readonly flag!: boolean | null;

  @Column({ ...TIMESTAMP_COLUMN, nullable: true })
  @TimestampField({
    description: 'A moment.',
    example: '2024-03-01T10:00:00.000Z',
    isOptional: true,
  })
  readonly time!: Date | null;

  @Column('jsonb', { nullable: true })
  @Any()
  readonly document!: object | null;

  @Column('text', { array: true, nullable: true })
  @Any()
  readonly words!: string[] | null;

  @Column('char', { length: 5, nullable: true })
  @Any()
  readonly code!: string | null;

  /** Without a precision it can be long, and the driver takes a number. */
  @Column('numeric', {
    nullable: true,
    transformer: { to: (value: unknown) => value, from: toNumber },
  })
  @Any()
  readonly amount!: number | null;

  /** No rule, so clients cannot set it. */
  @Column('text', { nullable: true })
  @Exclude()
  readonly secret!: string | null;

  @Column({ type: 'text', nullable: true, update: false })
  @Any()
  readonly lasting!: string | null;

  @CreateDateColumn(TIMESTAMP_COLUMN)
  @TimestampField({ description: 'When it was created.', isOptional: true })
  readonly createdAt!: Date | null;
}

class SampleDto extends DtoOf(Sample) {}
class SampleReplacementDto extends ReplacementOf(Sample) {}
class SamplePatchDto extends PatchOf(Sample) {}
class NewSampleDto extends NewOf(Sample) {}

class ListSamplesDto extends ListParameters {
  readonly text?: string;
  readonly large?: bigint;
  readonly small?: number;
  readonly flag?: boolean;
  readonly time?: string;
  readonly code?: string;
}

const CREATE_SAMPLES = migrationOf(
  `CREATE TABLE samples (id bigint PRIMARY KEY, "a ""strange"" name" text,
      large bigint CONSTRAINT samples_large_key UNIQUE, small smallint, flag boolean, time timestamptz(3), document jsonb, words text[], code char(5), amount numeric, secret text, lasting text UNIQUE,
      "createdAt" timestamptz(3) NOT NULL DEFAULT now(), CONSTRAINT samples_small_check CHECK (small <> 13))`,
);

const ERRORS = errorsOf({
  unlucky: { number: 40980, message: 'the number brings bad luck', remedy: 'Choose another one' },
  taken: { number: 40981, message: 'the id is taken', remedy: 'Choose another one' },
  largeTaken: { number: 40982, message: 'the number is taken', remedy: 'Choose another one' },
  inUse: { number: 40983, message: 'something refers to it', remedy: 'Remove that first' },
  missing: { number: 40480, message: 'there is no sample', remedy: 'Create it' },
});

/** How many rows the hooks of the module have found. */
const found: number[] = [];
let samples: Resource<Sample, SampleDto, ListSamplesDto>;

@Injectable()
class SamplesService implements OnModuleInit, OnApplicationBootstrap {
  constructor(
    resources: Resources,
    @InjectRepository(Sample) private readonly repository: Repository<Sample>,
  ) {
    samples = resources.of<Sample, ListSamplesDto>(Sample, {
      name: 'samples',
      dto: SampleDto,
      filters: {
        text: isEqual('"a ""strange"" name"'),
        large: isEqual('large'),
        small: isEqual('small'),
        flag: isEqual('flag'),
        time: isEqual('time'),
        code: isEqual('code'),
      },
      idTaken: (id) => new ServiceException(ERRORS.taken, `${id} is taken`),
      notFound: (id) => new ServiceException(ERRORS.missing, `${id} is missing`),
      constraints: {
        samples_small_check: ERRORS.unlucky,
        samples_large_key: ERRORS.largeTaken,
        samples_fkey: ERRORS.inUse,
      },
    });
  }

  async onModuleInit(): Promise<void> {
    found.push(await this.repository.count());
  }

  async onApplicationBootstrap(): Promise<void> {
    found.push(await this.repository.count());
  }
}

@Controller('samples')
class SamplesController {
  @RequireScope('samples:write')
  @Post()
  @HttpCode(200)
  async create(@Body() sample: NewSampleDto): Promise<object> {
    const creation = await samples.creates.create(sample);
    return Object.assign(samples.represent(sample), { creation });
  }

  @RequireScope('samples:write')
  @Get(':id')
  async get(@Param('id', Int64Pipe) id: bigint): Promise<Representation<SampleDto>> {
    return new Representation(samples.represent(await samples.lookups.find(id)));
  }

  @RequireScope('samples:write')
  @Put(':id')
  async replace(
    @Param('id', Int64Pipe) id: bigint,
    @Body() sample: SampleReplacementDto,
  ): Promise<Representation<SampleDto>> {
    return new Representation(samples.represent(await samples.updates.replace(id, sample)));
  }

  @RequireScope('samples:write')
  @Patch(':id')
  async patch(
    @Param('id', Int64Pipe) id: bigint,
    @Body() sample: SamplePatchDto,
    @RequestPrecondition() precondition: Precondition | undefined,
  ): Promise<Representation<SampleDto>> {
    const changed = await samples.updates.patch(id, sample, { precondition });
    return new Representation(samples.represent(changed));
  }
}

const service = runningService(
  appOf([Sample], [CREATE_SAMPLES], {
    controllers: [SamplesController],
    providers: [SamplesService],
  }),
);

beforeEach(() => service.database.empty());

const FULL = {
  id: 1n,
  text: 'é',
  large: 2n ** 62n + 1n,
  small: -5,
  flag: false,
  time: new Date('2026-02-03T04:05:06.789Z'),
  document: { deep: [{ a: null }] },
  words: ['a', 'b,"c"', ''],
  code: 'abcde',
  amount: 2.5,
  lasting: 'first',
};

/** Another value for each member. */
const OTHERS = {
  text: 'e',
  large: 2n ** 62n,
  small: 5,
  flag: true,
  time: new Date('2026-02-03T04:05:06.788Z'),
  document: { deep: [{ a: 1 }] },
  words: ['a', 'b,"c"'],
  code: 'abcdf',
  amount: 1e30,
};

it('hooks of a module find the tables of the migrations', () => {
  expect(found).toEqual([0, 0]);
});

describe('a resource with members of any type', () => {
  it('is looked up, listed and exported as it was created', async () => {
    const { createdAt: _, ...empty } = samples.represent({ id: 2n });
    expect(await samples.creates.create(FULL)).toBe('created');
    expect(await samples.creates.create(empty as SampleDto)).toBe('created');
    const { createdAt, secret, ...stored } = await samples.lookups.find(1n);
    expect(stored).toEqual(FULL);
    expect(secret).toBeNull();
    expect(createdAt).toBeInstanceOf(Date);
    const { items } = await samples.pages.list({ limit: 50 });
    expect(items.map((item) => item.replace(/,"createdAt":"[^"]*"/, ''))).toEqual([
      `{"id":1,"text":"é","large":4611686018427387905,"small":-5,"flag":false,"time":"2026-02-03T04:05:06.789Z","document":{"deep":[{"a":null}]},"words":["a","b,\\"c\\"",""],"code":"abcde","amount":2.5,"lasting":"first"}`,
      '{"id":2}',
    ]);
    let lines = '';
    const exported = samples.exports.run({}, new AbortController().signal);
    for await (const text of exported) lines += text;
    expect(lines).toBe(`${items.join('\n')}\n\n`);
  });

  it.each([
    { text: 'é' },
    { large: 4_611_686_018_427_387_905n },
    { small: -5 },
    { flag: false },
    { time: '2026-02-03T05:05:06.789+01:00' },
    { code: 'abcde' },
    { code: 'abcde', small: -5 },
  ])('is found by the filter %s, alone and beside other pages', async (filter) => {
    const { createdAt: _, ...empty } = samples.represent({ id: 2n });
    await samples.creates.create(FULL);
    await samples.creates.create(empty);
    const idsOf = async (query: Omit<ListSamplesDto, 'limit'>, limit = 50) =>
      (await samples.pages.list({ ...query, limit })).items.map((item) => /\d+/.exec(item)![0]);
    expect(await idsOf(filter)).toEqual(['1']);
    expect(
      await Promise.all([idsOf(filter), idsOf({ after: 1n }), idsOf(filter, 1), idsOf({}, 7)]),
    ).toEqual([['1'], ['2'], ['1'], ['1', '2']]);
    expect(await idsOf({ ...filter, after: 1n })).toEqual([]);
  });

  it('is found by an array, alone and beside other pages', async () => {
    await samples.creates.create(FULL);
    const idsOf = async (words: readonly string[]) => {
      const { items } = await samples.pages.list({ limit: 50 }, { where: { words } });
      return items.map((item) => /\d+/.exec(item)![0]);
    };
    expect(await idsOf(FULL.words)).toEqual(['1']);
    const others = await Promise.all([idsOf(FULL.words), idsOf(['a']), idsOf([])]);
    expect(others).toEqual([['1'], [], []]);
  });

  it('is the same when it is created again, alone and in a group', async () => {
    await samples.creates.create(FULL);
    const group = Array.from({ length: 8 }, () => samples.creates.create(FULL));
    expect(new Set(await Promise.all(group))).toEqual(new Set(['unchanged']));
  });

  it('leaves room in the queue for others, whatever it has', async () => {
    const { large: _, lasting: __, ...common } = FULL;
    for (let round = 0n; round < 2n; round += 1n) {
      const creates = Array.from({ length: 64 }, (___, at) =>
        samples.creates.create({ ...common, id: round * 64n + BigInt(at) }),
      );
      expect(new Set(await Promise.all(creates))).toEqual(new Set(['created']));
    }
    expect(samples.creates.queue).toMatchObject({ rows: 0, characters: 0 });
  });

  it.each(Object.entries(OTHERS))('is another one with another %s', async (member, value) => {
    const other = { ...FULL, [member]: value } as SampleDto;
    const absent = { ...FULL, [member]: null } as unknown as SampleDto;
    await samples.creates.create(FULL);
    await expect(samples.creates.create(other)).rejects.toThrow('1 is taken');
    await expect(samples.creates.create(absent)).rejects.toThrow('1 is taken');
    // Compared with each other, and with the stored row.
    const group = [FULL, other, absent, FULL];
    const creations = await Promise.allSettled(group.map((one) => samples.creates.create(one)));
    expect(creations).toMatchObject([
      { value: 'unchanged' },
      { reason: { kind: ERRORS.taken } },
      { reason: { kind: ERRORS.taken } },
      { value: 'unchanged' },
    ]);
    await samples.updates.patch(1n, { [member]: value });
    expect(await samples.creates.create(other)).toBe('unchanged');
  });

  it('is the same for equal creates at once, also with another unique key', async () => {
    for (let id = 1n; id <= 200n; id += 1n) {
      const one = { ...FULL, id, large: id, lasting: `${id}` } as SampleDto;
      // Groups run at the same time only if one of them has begun.
      const first = samples.creates.create(one);
      await new Promise((resolve) => setImmediate(resolve));
      const creations = await Promise.all([first, samples.creates.create(one)]);
      expect(new Set(creations)).toEqual(new Set(['created', 'unchanged']));
    }
  });

  it('keeps what clients cannot change, whatever a PUT or PATCH has', async () => {
    await samples.creates.create({ ...FULL, secret: 's' });
    const body = { text: 'e', secret: 'x', lasting: 'x', createdAt: new Date(0) };
    const before = await samples.lookups.find(1n);
    expect(await samples.updates.patch(1n, body)).toEqual(Object.assign(before, { text: 'e' }));
    const replaced = await samples.updates.replace(1n, body);
    expect(replaced).toMatchObject({ text: 'e', secret: 's', lasting: 'first', small: null });
    expect(replaced.createdAt).toEqual(before.createdAt);
    expect(await samples.updates.patch(1n, { lasting: 'x' })).toEqual(replaced);
  });

  it('has classes for its bodies without the members that clients cannot set', () => {
    const all = [...Object.keys(FULL), 'createdAt'].toSorted();
    const members = (dto: Type) => {
      const rules = getMetadataStorage().getTargetValidationMetadatas(dto, '', true, false);
      return [...new Set(rules.map(({ propertyName }) => propertyName))].toSorted();
    };
    const given = all.filter((name) => name !== 'createdAt');
    const changeable = given.filter((name) => name !== 'lasting');
    expect(members(SampleDto)).toEqual(all);
    expect(members(NewSampleDto)).toEqual(given);
    expect(members(SampleReplacementDto)).toEqual(changeable);
    expect(members(SamplePatchDto)).toEqual(changeable);
  });

  it('fails as it is declared for a constraint, in a group and alone, and in a change', async () => {
    const unlucky = { small: 13 };
    const group = [{ id: 1n }, { id: 2n, ...unlucky }, { id: 3n }];
    const outcomes = await Promise.allSettled(group.map((one) => samples.creates.create(one)));
    expect(outcomes).toMatchObject([
      { value: 'created' },
      { reason: { kind: ERRORS.unlucky } },
      { value: 'created' },
    ]);
    const change = samples.updates.patch(1n, unlucky);
    await expect(change).rejects.toMatchObject({ kind: ERRORS.unlucky });
  });

  it('fails as it is declared for a unique key besides the id', async () => {
    const group = [1n, 2n, 3n].map((id) => samples.creates.create({ id, large: id % 2n }));
    expect(await Promise.allSettled(group)).toMatchObject([
      { value: 'created' },
      { value: 'created' },
      { reason: { kind: ERRORS.largeTaken } },
    ]);
    const change = samples.updates.patch(2n, { large: 1n });
    await expect(change).rejects.toMatchObject({ kind: ERRORS.largeTaken });
  });

  it('fails as it is declared for the foreign key of another table when it is removed', async () => {
    const key = 'CONSTRAINT samples_fkey REFERENCES samples';
    await service.database.query(`CREATE TABLE lids (sample_id bigint ${key})`);
    await samples.creates.create({ id: 1n });
    await service.database.query('INSERT INTO lids VALUES (1)');
    await expect(samples.updates.remove(1n)).rejects.toMatchObject({ kind: ERRORS.inUse });
    await service.database.query('DROP TABLE lids');
  });
});

describe('a moment and a small integer', () => {
  const timeZone = process.env['TZ'];

  afterEach(() => {
    if (timeZone === undefined) delete process.env['TZ'];
    else process.env['TZ'] = timeZone;
  });

  async function send(method: string, path: string, body?: object, headers = {}) {
    const { status, text, headers: fields } = await service.send(method, path, body, headers);
    const json = JSON.parse(text) as Readonly<Record<string, unknown>>;
    return { status, json, tag: fields.get('ETag') };
  }

  it.each(['UTC', 'America/St_Johns', 'Europe/Amsterdam'])(
    'are answered everywhere as they are stored, in the time zone %s',
    async (zone) => {
      process.env['TZ'] = zone;
      for (const [at, [sent, time]] of [
        ['2024-03-01T12:00:00+02:00', '2024-03-01T10:00:00.000Z'],
        ['2024-03-31t01:30:00.1230000z', '2024-03-31T01:30:00.123Z'],
        ['1900-01-01T00:00:00Z', '1900-01-01T00:00:00.000Z'],
        ['0001-01-01T00:00:00Z', '0001-01-01T00:00:00.000Z'],
        ['9999-12-31T23:59:59.999Z', '9999-12-31T23:59:59.999Z'],
      ].entries()) {
        const id = at + 1;
        const created = await send('POST', '/samples', { id, time: sent, small: 5 });
        expect(created.json).toEqual({ id, time, small: 5, creation: 'created' });
        const replayed = await send('POST', '/samples', { id, time, small: 5 });
        expect(replayed.json).toEqual({ id, time, small: 5, creation: 'unchanged' });
        const { json, tag } = await send('GET', `/samples/${id}`);
        expect(json).toMatchObject({ id, time, small: 5 });
        const patched = await send('PATCH', `/samples/${id}`, { time: sent }, { 'If-Match': tag });
        expect(patched).toEqual({ status: 200, json, tag });
        const replaced = await send('PUT', `/samples/${id}`, { time: sent, small: 5 });
        expect(replaced.json).toEqual(json);
        const { items } = await samples.pages.list({ limit: 1, after: BigInt(at) });
        expect(items).toEqual([JSON.stringify(json)]);
      }
      const [{ utc }] = (await service.database.query(
        `SELECT string_agg((time AT TIME ZONE 'UTC')::text, ', ' ORDER BY id) AS utc FROM samples`,
      )) as [{ utc: string }];
      expect(utc.split(', ').slice(2, 4)).toEqual(['1900-01-01 00:00:00', '0001-01-01 00:00:00']);
    },
  );

  it('can be removed', async () => {
    await send('POST', '/samples', { id: 1, time: '2024-03-01T10:00:00Z', small: 1 });
    const { json } = await send('PATCH', '/samples/1', { time: null, small: null });
    expect(json).toEqual({ id: 1, createdAt: expect.any(String) });
  });

  it.each([
    ['time', '2024-02-30T00:00:00Z'],
    ['time', null],
    ['time', 1],
    ['small', 100],
    ['small', -6],
    ['small', 1.5],
    ['small', '5'],
  ])('are refused with the rule: %s %j', async (member, value) => {
    const rule =
      member === 'time'
        ? /^time must be an existing date and time with an offset[^;]*$/
        : /^small must be an integer between -5 and 99$/;
    const { status, json } = await send('POST', '/samples', { id: 1, [member]: value });
    expect({ status, json }).toMatchObject({
      status: 400,
      json: { message: expect.stringMatching(rule) },
    });
  });
});
