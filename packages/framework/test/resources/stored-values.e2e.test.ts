import {
  Body,
  Controller,
  Get,
  HttpCode,
  Injectable,
  Module,
  Param,
  Post,
  Query,
} from '@nestjs/common';
import type { Type } from '@nestjs/common';
import { ApiProperty } from '@nestjs/swagger';
import { IsOptional } from 'class-validator';
import { Column, Entity, PrimaryColumn, PrimaryGeneratedColumn } from 'typeorm';
import type { ColumnOptions, MigrationInterface, QueryRunner } from 'typeorm';
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import {
  defineErrors,
  DtoOf,
  FrameworkModule,
  GeneratedIdRepository,
  INT64_COLUMN,
  Int64Field,
  Int64Pipe,
  isEqual,
  ListParameters,
  NewOf,
  RequireScope,
  ResourceModule,
  ResourceRepository,
  ServiceException,
  TextField,
} from '../../src/index.js';
import type { Page } from '../../src/index.js';
import { ENHANCERS } from '../support/enhancers.js';
import { IDENTITY } from '../support/identity.js';
import { start } from '../support/start.js';
import { createTestDatabase } from '../support/test-database.js';
import type { TestDatabase } from '../support/test-database.js';
import { TOKEN } from '../support/tokens.js';

/* Values that PostgreSQL or the driver writes in its own way, and several entities of one table. */

// The next file in this worker loads the modules again, without the errors that this file defines.
vi.hoisted(() => vi.resetModules());
afterAll(() => vi.resetModules());

const ERRORS = defineErrors([60, 69], {
  missing: { number: 40_460, message: 'there is none', remedy: 'Create it' },
  taken: { number: 40_960, message: 'the id is taken', remedy: 'Choose another one' },
});
const notFound = () => new ServiceException(ERRORS.missing);
const idTaken = () => new ServiceException(ERRORS.taken);

/** A member whose rules are of no interest here. */
function Any(): PropertyDecorator {
  return (target, name) => {
    ApiProperty({ type: 'string' })(target, name);
    IsOptional()(target, name);
  };
}

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

/** Another entity of the table. */
@Entity('samples')
class Label {
  @PrimaryColumn(INT64_COLUMN)
  @Int64Field({ description: 'Its id.', example: 7 })
  readonly id!: bigint;

  @Column('varchar', { length: 5, nullable: true })
  @TextField({ description: 'Its name.', isOptional: true })
  readonly name!: string | null;
}
class LabelDto extends DtoOf(Label) {}

@Entity('notes')
class Note {
  @PrimaryGeneratedColumn('identity', INT64_COLUMN)
  @Int64Field({ description: 'Its id.', example: 7 })
  readonly id!: bigint;

  @Column('text')
  @TextField({ description: 'Its text.' })
  readonly text!: string;

  @Column('text', { nullable: true })
  @TextField({ description: 'Who wrote it.', isOptional: true })
  readonly author!: string | null;
}
class NoteDto extends DtoOf(Note) {}
class NewNoteDto extends NewOf(Note) {}

@Entity('notes')
class ShortNote {
  @PrimaryGeneratedColumn('identity', INT64_COLUMN)
  @Int64Field({ description: 'Its id.', example: 7 })
  readonly id!: bigint;

  @Column('text')
  @TextField({ description: 'Its text.' })
  readonly text!: string;
}
class ShortNoteDto extends DtoOf(ShortNote) {}
class NewShortNoteDto extends NewOf(ShortNote) {}

class CreateSamples1796000000000 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    const columns = Object.entries(VALUES).map(([name, [options]]) => {
      const { type, length, precision, scale, array } = options;
      const size = length ?? (precision && `${precision},${scale}`);
      return `${name} ${String(type)}${size === undefined ? '' : `(${size})`}${array ? '[]' : ''}`;
    });
    await queryRunner.query(`CREATE TABLE samples (id bigint PRIMARY KEY, ${columns.join(', ')})`);
    await queryRunner.query(`CREATE TABLE notes (id bigint GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
      text text NOT NULL, author text)`);
  }

  down(): Promise<void> {
    return Promise.resolve();
  }
}

class ListLabelsDto extends ListParameters {
  readonly name?: string;
}

@Injectable()
class SamplesRepository extends ResourceRepository<Sample, ListParameters>(Sample, {
  name: 'samples',
  dto: SampleDto,
  filters: {},
  notFound,
  idTaken,
}) {}

@Injectable()
class LabelsRepository extends ResourceRepository<Label, ListLabelsDto>(Label, {
  name: 'labels',
  dto: LabelDto,
  filters: { name: isEqual('name') },
  notFound,
  idTaken,
}) {}

@Injectable()
class NotesRepository extends GeneratedIdRepository<Note, ListParameters>(Note, {
  name: 'notes',
  dto: NoteDto,
  filters: {},
  notFound,
}) {}

@Injectable()
class ShortNotesRepository extends GeneratedIdRepository<ShortNote, ListParameters>(ShortNote, {
  name: 'short-notes',
  dto: ShortNoteDto,
  filters: {},
  notFound,
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

@Controller()
class OthersController {
  constructor(
    private readonly labels: LabelsRepository,
    private readonly notes: NotesRepository,
    private readonly shortNotes: ShortNotesRepository,
  ) {}

  @Post('labels')
  @HttpCode(200)
  @RequireScope('samples:write')
  createLabel(@Body() label: LabelDto): Promise<LabelDto> {
    return this.labels.create(label);
  }

  @Post('notes')
  @RequireScope('samples:write')
  createNote(@Body() note: NewNoteDto): Promise<NoteDto> {
    return this.notes.create(note);
  }

  @Post('short-notes')
  @RequireScope('samples:write')
  createShortNote(@Body() note: NewShortNoteDto): Promise<ShortNoteDto> {
    return this.shortNotes.create(note);
  }
}

@Module({
  imports: [
    ResourceModule.forFeature([Sample, Label, Note, ShortNote], {
      migrations: [CreateSamples1796000000000],
    }),
  ],
  controllers: [SamplesController, OthersController],
  providers: [SamplesRepository, LabelsRepository, NotesRepository, ShortNotesRepository],
})
class SamplesModule {}

@Module({ imports: [FrameworkModule.forRoot(IDENTITY), SamplesModule], providers: ENHANCERS })
class AppModule {}

let database: TestDatabase;
let url: string;
let stop: () => Promise<void>;

beforeAll(async () => {
  database = await createTestDatabase();
  // One connection prepares the statements of all entities.
  const service = await start(AppModule, database, { DATABASE_POOL_MAX: '1' });
  url = `http://127.0.0.1:${service.address.port}`;
  stop = () => service.stop();
});

afterAll(async () => {
  await stop();
  await database.drop();
});

beforeEach(() => database.empty());

async function request(method: string, path: string, body?: object) {
  const response = await fetch(url + path, {
    method,
    headers: { Authorization: `Bearer ${TOKEN}`, 'Content-Type': 'application/json' },
    body: JSON.stringify(body) ?? null,
  });
  return { status: response.status, text: await response.text() };
}

describe('what a create answers', () => {
  it.each(Object.entries(VALUES))('is what is read: %s', async (property, [, value]) => {
    const created = await request('POST', '/samples', { id: 7, [property]: value });
    expect(created.status).toBe(200);
    expect(await request('GET', '/samples/7')).toEqual(created);
    expect((await request('GET', '/samples')).text).toBe(`[${created.text}]`);
    // The same create again.
    expect(await request('POST', '/samples', { id: 7, [property]: value })).toEqual(created);
  });
});

describe('several entities of one table', () => {
  const many = <T>(count: number, make: (at: number) => T) =>
    Array.from({ length: count }, (_, at) => make(at));

  it('create rows with chosen ids on one connection, alone and in groups', async () => {
    for (const count of [1, 20]) {
      for (const path of ['/samples', '/labels', '/samples']) {
        const first = Number((await database.query('SELECT count(*) FROM samples'))[0]!['count']);
        const sent = many(count, (at) => request('POST', path, { id: first + at, name: 'ab' }));
        const answers = await Promise.all(sent);
        expect(answers.filter(({ status }) => status !== 200)).toEqual([]);
      }
    }
  });

  it('create rows with made ids on one connection', async () => {
    for (const path of ['/notes', '/short-notes', '/notes']) {
      expect((await request('POST', path, { text: 'Dear diary' })).status).toBe(201);
    }
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
    @Module({
      imports: [ResourceModule.forFeature([entity], { migrations: [] })],
      providers: [CountedRepository],
    })
    class CountedModule {}
    @Module({ imports: [FrameworkModule.forRoot(IDENTITY), CountedModule], providers: ENHANCERS })
    class CountedAppModule {}
    const other = await createTestDatabase();
    try {
      await expect(start(CountedAppModule, other)).rejects.toThrow(
        'Counted.large: the options of a column of type bigint must be those of INT64_COLUMN',
      );
    } finally {
      await other.drop();
    }
  }
});
