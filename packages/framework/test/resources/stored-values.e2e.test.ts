import { Body, Controller, Get, HttpCode, Injectable, Param, Post, Query } from '@nestjs/common';
import type { Type } from '@nestjs/common';
import { Column, Entity, PrimaryColumn } from 'typeorm';
import type { ColumnOptions } from 'typeorm';
import { beforeEach, describe, expect, it } from 'vitest';
import {
  DtoOf,
  INT64_COLUMN,
  Int64Field,
  Int64Pipe,
  ListParameters,
  RequireScope,
  ResourceRepository,
  ServiceException,
} from '../../src/index.js';
import type { Page } from '../../src/index.js';
import { errorsOf } from '../support/errors.js';
import { start } from '../support/start.js';
import { createTestDatabase } from '../support/test-database.js';
import { appOf, migrationOf, runningService } from '../support/running-service.js';
import { Any } from '../support/any.js';

/* Values that PostgreSQL or the driver writes in its own way. */

const ERRORS = errorsOf({
  missing: { number: 40_460, message: 'there is none', remedy: 'Create it' },
  taken: { number: 40_960, message: 'the id is taken', remedy: 'Choose another one' },
});
const notFound = () => new ServiceException(ERRORS.missing);
const idTaken = () => new ServiceException(ERRORS.taken);

/** The columns, and a value that is read otherwise than it was written. */
const VALUES: Readonly<Record<string, readonly [options: ColumnOptions, value: unknown]>> = {
  numeric: [{ type: 'numeric' }, '1.50e0'],
  decimal: [{ type: 'numeric', precision: 10, scale: 2 }, '1.5'],
  real: [{ type: 'real' }, 0.123456789],
  double: [{ type: 'double precision' }, 0.1],
  code: [{ type: 'char', length: '5' }, 'ab'],
  name: [{ type: 'varchar', length: '5' }, 'ab'],
  day: [{ type: 'date' }, '2024-03-01'],
  time: [{ type: 'time' }, '10:00'],
  moment: [{ type: 'timestamptz' }, '2024-03-01T10:00:00+02:00'],
  duration: [{ type: 'interval' }, '90 minutes'],
  address: [{ type: 'inet' }, '::0001'],
  specs: [{ type: 'jsonb' }, { length: 1, b: 2 }],
  uuid: [{ type: 'uuid' }, '01920000-0000-7000-8000-00000000000A'],
  flag: [{ type: 'boolean' }, true],
  small: [{ type: 'smallint' }, 7],
  ids: [{ type: 'bigint', array: true }, ['9007199254740993']],
  prices: [{ type: 'numeric', array: true }, ['1.50']],
};

@Entity('samples')
class Sample {
  @PrimaryColumn(INT64_COLUMN)
  @Int64Field({ description: 'Its id.', example: 7 })
  readonly id!: bigint;
}
for (const [property, [options]] of Object.entries(VALUES)) {
  Column({ ...options, nullable: true })(Sample.prototype, property);
  Any()(Sample.prototype, property);
}
class SampleDto extends DtoOf(Sample) {}

/** In SQL. */
const COLUMNS = Object.entries(VALUES).map(([name, [options]]) => {
  const { type, length, precision, scale, array } = options;
  const size = length ?? (precision && `${precision},${scale}`);
  return `${name} ${String(type)}${size === undefined ? '' : `(${size})`}${array ? '[]' : ''}`;
});

const CREATE_TABLES = migrationOf(
  `CREATE TABLE samples (id bigint PRIMARY KEY, ${COLUMNS.join(', ')})`,
);

@Injectable()
class SamplesRepository extends ResourceRepository<Sample, ListParameters>(Sample, {
  name: 'samples',
  dto: SampleDto,
  filters: {},
  notFound,
  idTaken,
}) {}

@Controller('samples')
class SamplesController {
  constructor(private readonly samples: SamplesRepository) {}

  @Post()
  @HttpCode(200)
  @RequireScope('samples:write')
  create(@Body() sample: SampleDto): Promise<SampleDto> {
    return this.samples.create(sample);
  }

  @Get()
  @RequireScope('samples:read')
  list(@Query() query: ListParameters): Promise<Page<ListParameters>> {
    return this.samples.list(query);
  }

  @Get(':id')
  @RequireScope('samples:read')
  get(@Param('id', Int64Pipe) id: bigint): Promise<SampleDto> {
    return this.samples.find(id);
  }
}

const service = runningService(
  appOf([Sample], [CREATE_TABLES], {
    controllers: [SamplesController],
    providers: [SamplesRepository],
  }),
);
const { send } = service;

beforeEach(() => service.database.empty());

describe('what a create answers', () => {
  it.each(Object.entries(VALUES))('is what is read: %s', async (property, [, value]) => {
    const created = await send('POST', '/samples', { id: 7, [property]: value });
    expect(created.status).toBe(200);
    const same = { status: 200, text: created.text };
    expect(await send('GET', '/samples/7')).toMatchObject(same);
    expect((await send('GET', '/samples')).text).toBe(`[${created.text}]`);
    // The same create again.
    expect(await send('POST', '/samples', { id: 7, [property]: value })).toMatchObject(same);
  });
});

describe('a bigint', () => {
  const asNumber = {
    from: (text: string | null) => text && Number(text),
    to: (value: unknown) => value,
  };
  const asText = { from: (text: string | null) => text, to: (value: unknown) => value };

  it.each([
    ['without INT64_COLUMN', { type: 'bigint' } as const],
    ['that is read as a number', { type: 'bigint', transformer: asNumber } as const],
    ['that is read as text', { type: 'bigint', transformer: asText } as const],
    ['that may be null', { type: 'bigint', nullable: true } as const],
  ])('%s is refused at the start', async (_, options: ColumnOptions) => {
    class Counted {
      readonly id!: bigint;
      readonly large!: bigint;
    }
    PrimaryColumn(INT64_COLUMN)(Counted.prototype, 'id');
    Int64Field({ description: 'Its id.' })(Counted.prototype, 'id');
    Column(options)(Counted.prototype, 'large');
    Int64Field({ description: 'A count.', isOptional: options.nullable === true })(
      Counted.prototype,
      'large',
    );
    Entity('counted')(Counted);
    await refuses(Counted);
  });

  async function refuses(entity: Type<{ readonly id: bigint }>): Promise<void> {
    class CountedDto extends DtoOf(entity) {}
    @Injectable()
    class CountedRepository extends ResourceRepository<{ readonly id: bigint }, ListParameters>(
      entity,
      {
        name: 'counted',
        dto: CountedDto,
        filters: {},
        notFound,
        idTaken,
      },
    ) {}
    const app = appOf([entity], [], { providers: [CountedRepository] });
    const other = await createTestDatabase();
    try {
      await expect(start(app, other)).rejects.toThrow(
        'Counted.large: a column of type bigint needs the options INT64_COLUMN',
      );
    } finally {
      await other.drop();
    }
  }
});
