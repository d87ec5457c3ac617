import {
  Body,
  Controller,
  HttpCode,
  Injectable,
  Module,
  Param,
  Patch,
  Post,
  Put,
} from '@nestjs/common';
import { ApiProperty } from '@nestjs/swagger';
import { IsOptional } from 'class-validator';
import { Column, Entity, PrimaryColumn, PrimaryGeneratedColumn } from 'typeorm';
import type { MigrationInterface, QueryRunner } from 'typeorm';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Line } from '../../src/http/body/body-lines.js';
import {
  DtoOf,
  FrameworkModule,
  GeneratedIdRepository,
  INT64_COLUMN,
  Int64Field,
  Int64Pipe,
  LinesFile,
  ListParameters,
  NdjsonLines,
  NewOf,
  PatchOf,
  ReplacementOf,
  RequestSignal,
  RequireScope,
  ResourceModule,
  ResourceRepository,
  ServiceException,
} from '../../src/index.js';
import type { Filled } from '../../src/index.js';
import type { Service } from '../../src/app/service.js';
import { ENHANCERS } from '../support/enhancers.js';
import { errorsOf } from '../support/errors.js';
import { IDENTITY } from '../support/identity.js';
import { PATIENT } from '../support/patience.js';
import { start } from '../support/start.js';
import { createTestDatabase } from '../support/test-database.js';
import type { TestDatabase } from '../support/test-database.js';
import { TOKEN } from '../support/tokens.js';

const ERRORS = errorsOf({
  taken: { number: 40980, message: 'the id is taken', remedy: 'Choose another one' },
  missing: { number: 40480, message: 'there is no such cell', remedy: 'Check the id' },
  spotTaken: { number: 40981, message: 'the spot is taken', remedy: 'Choose another one' },
  noArea: { number: 40982, message: 'there is no such area', remedy: 'Choose another one' },
  badMood: { number: 40983, message: 'the mood is bad', remedy: 'Choose another one' },
});

/** A property that permits any text. */
function Any(): PropertyDecorator {
  return (target, name) => {
    ApiProperty({ type: 'string' })(target, name);
    IsOptional()(target, name);
  };
}

class Values {
  /** Decides what triggers do. */
  @Column('text', { nullable: true })
  @Any()
  readonly kind!: string | null;

  @Column('text', { nullable: true })
  @Any()
  readonly mood!: string | null;

  @Column('int4range', { nullable: true })
  @Any()
  readonly spot!: string | null;

  @Column('integer', { nullable: true })
  @Any()
  readonly divisor!: number | null;

  @Column('text', { nullable: true })
  @Any()
  readonly code!: string | null;

  @Column('integer', { nullable: true })
  @Any()
  readonly area!: number | null;

  @Column('integer', { nullable: true, name: 'late_area' })
  @Any()
  readonly lateArea!: number | null;

  @Column('time', { nullable: true })
  @Any()
  readonly opens!: string | null;

  @Column('interval', { nullable: true })
  @Any()
  readonly lasts!: string | null;

  @Column('date', { nullable: true })
  @Any()
  readonly day!: string | null;

  @Column('uuid', { nullable: true })
  @Any()
  readonly tag!: string | null;

  @Column('inet', { nullable: true, name: 'the host' })
  @Any()
  readonly host!: string | null;

  @Column('varchar', { nullable: true, length: 3 })
  @Any()
  readonly short!: string | null;

  @Column('smallint', { nullable: true })
  @Any()
  readonly small!: number | null;

  @Column('tsquery', { nullable: true })
  @Any()
  readonly query!: string | null;
}

@Entity('cells')
class Cell extends Values {
  @PrimaryColumn(INT64_COLUMN)
  @Int64Field({ description: 'Its id.' })
  readonly id!: bigint;
}

@Entity('numbered_cells')
class NumberedCell extends Values {
  @PrimaryGeneratedColumn('identity', INT64_COLUMN)
  @Int64Field({ description: 'Its number.' })
  readonly id!: Filled<bigint>;
}

class CellDto extends DtoOf(Cell) {}
class CellReplacementDto extends ReplacementOf(Cell) {}
class CellPatchDto extends PatchOf(Cell) {}
class NumberedCellDto extends DtoOf(NumberedCell) {}
class NewNumberedCellDto extends NewOf(NumberedCell) {}
class NumberedCellReplacementDto extends ReplacementOf(NumberedCell) {}
class NumberedCellPatchDto extends PatchOf(NumberedCell) {}

const COLUMNS = `kind text, mood good_mood, spot int4range, divisor integer, code text, area integer, late_area integer,
  opens time, lasts interval, day date, tag uuid, "the host" inet, short varchar(3), small smallint, query tsquery`;

class CreateCells1795700000000 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    for (const statement of [
      `CREATE FUNCTION is_good(mood text) RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN
         IF mood = 'raises' THEN RAISE EXCEPTION USING ERRCODE = '57P01'; END IF;
         RETURN mood IS DISTINCT FROM 'bad';
       END $$`,
      'CREATE DOMAIN good_mood AS text CONSTRAINT good_mood CHECK (is_good(VALUE))',
      'CREATE SEQUENCE unused',
      'CREATE TABLE areas (id integer PRIMARY KEY) PARTITION BY RANGE (id)',
      'CREATE TABLE areas_1 PARTITION OF areas FOR VALUES FROM (0) TO (100)',
      `CREATE TABLE numbered_cells (id bigint GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY, ${COLUMNS})`,
      `CREATE TABLE cells (id bigint PRIMARY KEY, ${COLUMNS},
         share numeric GENERATED ALWAYS AS (1.0 / divisor) STORED,
         CONSTRAINT cells_spot_excl EXCLUDE USING gist (spot WITH &&),
         CONSTRAINT cells_area_fkey FOREIGN KEY (area) REFERENCES areas,
         CONSTRAINT cells_late_area_fkey FOREIGN KEY (late_area) REFERENCES areas DEFERRABLE INITIALLY DEFERRED)`,
      'CREATE UNIQUE INDEX ON cells ((code::integer))',
      // Even a superuser, who owns the table, has no privilege in it.
      `CREATE FUNCTION look() RETURNS bigint LANGUAGE sql SECURITY DEFINER AS 'SELECT count(*) FROM areas'`,
      'ALTER FUNCTION look() OWNER TO pg_read_all_stats',
      `CREATE FUNCTION check_cell() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
         IF NEW.kind LIKE '_____' THEN RAISE EXCEPTION USING ERRCODE = NEW.kind;
         ELSIF NEW.kind = 'no privilege' THEN PERFORM look();
         ELSIF NEW.kind = 'no number' THEN PERFORM currval('unused');
         ELSIF NEW.kind = 'no parameter' THEN PERFORM set_config('port', '1', true);
         ELSIF NEW.kind = 'no time' THEN PERFORM NEW.code::time;
         ELSIF NEW.kind = 'raised again' THEN
           BEGIN PERFORM look(); EXCEPTION WHEN OTHERS THEN RAISE; END;
         END IF;
         RETURN NEW;
       END $$`,
      'CREATE TRIGGER check_cell BEFORE INSERT OR UPDATE ON cells FOR EACH ROW EXECUTE FUNCTION check_cell()',
      'CREATE TRIGGER check_cell BEFORE INSERT OR UPDATE ON numbered_cells FOR EACH ROW EXECUTE FUNCTION check_cell()',
      `CREATE FUNCTION check_late() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
         IF NEW.kind = 'late' THEN RAISE EXCEPTION USING ERRCODE = '53100'; END IF;
         IF NEW.kind = 'late privilege' THEN PERFORM look(); END IF;
         RETURN NULL;
       END $$`,
      'CREATE CONSTRAINT TRIGGER check_late AFTER INSERT ON cells DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION check_late()',
      `CREATE FUNCTION check_all() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
         IF EXISTS (SELECT FROM stored WHERE kind = 'statement') THEN RAISE EXCEPTION USING ERRCODE = '08006'; END IF;
         RETURN NULL;
       END $$`,
      'CREATE TRIGGER check_all AFTER INSERT ON cells REFERENCING NEW TABLE AS stored FOR EACH STATEMENT EXECUTE FUNCTION check_all()',
    ]) {
      await queryRunner.query(statement);
    }
  }

  down(): Promise<void> {
    return Promise.resolve();
  }
}

const notFound = () => new ServiceException(ERRORS.missing);

@Injectable()
class CellsRepository extends ResourceRepository<Cell, ListParameters>(Cell, {
  name: 'cells',
  dto: CellDto,
  filters: {},
  idTaken: () => new ServiceException(ERRORS.taken),
  notFound,
  constraints: {
    cells_spot_excl: ERRORS.spotTaken,
    cells_area_fkey: ERRORS.noArea,
    cells_late_area_fkey: ERRORS.noArea,
    good_mood: ERRORS.badMood,
  },
}) {}

@Injectable()
class NumberedCellsRepository extends GeneratedIdRepository<NumberedCell, ListParameters>(
  NumberedCell,
  { name: 'numbered-cells', dto: NumberedCellDto, filters: {}, notFound },
) {}

@Controller('cells')
class CellsController {
  constructor(private readonly cells: CellsRepository) {}

  @Post()
  @RequireScope('cells:write')
  create(@Body() cell: CellDto): Promise<CellDto> {
    return this.cells.create(cell);
  }

  @Post('import')
  @HttpCode(200)
  @RequireScope('cells:write')
  import(
    @NdjsonLines() lines: AsyncIterable<readonly Line[]>,
    @RequestSignal() signal: AbortSignal,
  ): LinesFile {
    return new LinesFile(this.cells.import(lines, signal), true);
  }

  @Put(':id')
  @RequireScope('cells:write')
  replace(@Param('id', Int64Pipe) id: bigint, @Body() cell: CellReplacementDto): Promise<CellDto> {
    return this.cells.replace(id, cell);
  }

  @Patch(':id')
  @RequireScope('cells:write')
  patch(@Param('id', Int64Pipe) id: bigint, @Body() cell: CellPatchDto): Promise<CellDto> {
    return this.cells.patch(id, cell);
  }
}

@Controller('numbered-cells')
class NumberedCellsController {
  constructor(private readonly cells: NumberedCellsRepository) {}

  @Post()
  @RequireScope('cells:write')
  create(@Body() cell: NewNumberedCellDto): Promise<NumberedCellDto> {
    return this.cells.create(cell);
  }

  @Put(':id')
  @RequireScope('cells:write')
  replace(
    @Param('id', Int64Pipe) id: bigint,
    @Body() cell: NumberedCellReplacementDto,
  ): Promise<NumberedCellDto> {
    return this.cells.replace(id, cell);
  }

  @Patch(':id')
  @RequireScope('cells:write')
  patch(
    @Param('id', Int64Pipe) id: bigint,
    @Body() cell: NumberedCellPatchDto,
  ): Promise<NumberedCellDto> {
    return this.cells.patch(id, cell);
  }
}

@Module({
  imports: [
    ResourceModule.forFeature([Cell, NumberedCell], { migrations: [CreateCells1795700000000] }),
  ],
  controllers: [CellsController, NumberedCellsController],
  providers: [CellsRepository, NumberedCellsRepository],
})
class CellsModule {}

@Module({ imports: [FrameworkModule.forRoot(IDENTITY), CellsModule], providers: ENHANCERS })
class AppModule {}

let database: TestDatabase;
let service: Service;

beforeAll(async () => {
  database = await createTestDatabase();
  service = await start(AppModule, database, {}, PATIENT);
});

beforeEach(() => database.empty());

afterAll(async () => {
  await service.stop();
  await database.drop();
});

async function send(method: string, path: string, body: object | string) {
  const isLines = typeof body === 'string';
  const response = await fetch(`http://127.0.0.1:${service.address.port}${path}`, {
    method,
    headers: {
      Authorization: `Bearer ${TOKEN}`,
      'Content-Type': isLines ? 'application/x-ndjson' : 'application/json',
    },
    body: isLines ? body : JSON.stringify(body),
  });
  return { status: response.status, text: await response.text() };
}

const BUG = { error: 50000, message: 'the service failed to handle the request' };
const wrong = (message: string) => ({ error: 40003, message });
const noArea = { error: 40982, message: 'there is no such area' };
const unstorable = wrong('a member has a value that the database cannot store');

/** Texts of the wrong form, and what is wrong with them. */
const FORMS: readonly (readonly [object, object])[] = [
  [{ opens: 'noon-ish' }, wrong('opens must be a value of the type time')],
  [{ opens: '25:00' }, wrong('opens must be a value of the type time')],
  [{ lasts: 'a while' }, wrong('lasts must be a value of the type interval')],
  [{ lasts: '99999999999 years' }, wrong('lasts must be a value of the type interval')],
  [{ day: '2026-02-31' }, wrong('day must be an existing time')],
  [{ tag: 'not-a-uuid' }, wrong('tag must be a value of the type uuid')],
  [{ host: '300.1.1.1' }, wrong('host must be a value of the type inet')],
  [{ spot: '[3,1]' }, unstorable],
  [{ spot: 'x' }, wrong('spot must be a value of the type int4range')],
  [{ short: 'long' }, wrong('short must be a value of the type character varying(3)')],
  [{ small: 40_000 }, wrong('small must be a value of the type smallint')],
  [{ query: '&' }, wrong('query must be a value of the type tsquery')],
  // A text column with a value that another column has too.
  [
    { kind: 'odd', code: '1', tag: 'odd', host: 'odd' },
    wrong('tag must be a value of the type uuid, or host must be a value of the type inet'),
  ],
];

/** What the database refuses in a row, and the error. */
const BAD: readonly (readonly [string, object, object])[] = [
  ...[
    '42501',
    '55000',
    '53100',
    '57P01',
    '25006',
    '08006',
    '57014',
    '40001',
    '40P01',
    '55P03',
    '28000',
    'P0001',
  ].map((code) => [`a trigger that raises ${code}`, { kind: code }, BUG] as const),
  ['a trigger without a privilege', { kind: 'no privilege' }, BUG],
  ['a trigger that raises again', { kind: 'raised again' }, BUG],
  ['a trigger before the first number of a sequence', { kind: 'no number' }, BUG],
  ['a trigger that sets a parameter', { kind: 'no parameter' }, BUG],
  ['a trigger that converts a text', { kind: 'no time', code: '7777' }, BUG],
  ['a trigger at the commit', { kind: 'late' }, BUG],
  ['a trigger at the commit without a privilege', { kind: 'late privilege' }, BUG],
  ['a trigger of the statement', { kind: 'statement' }, BUG],
  ['a domain', { mood: 'bad' }, { error: 40983, message: 'the mood is bad' }],
  ['a domain whose check raises', { mood: 'raises' }, BUG],
  ['an exclusion', { spot: '[1,9]' }, { error: 40981, message: 'the spot is taken' }],
  ['a generated column', { divisor: 0 }, unstorable],
  ['a foreign key to a partition', { area: 7 }, noArea],
  ['a foreign key to no partition', { area: 700 }, noArea],
  ['a foreign key at the commit', { lateArea: 7 }, noArea],
  ['an index with an expression', { code: 'x' }, unstorable],
  ...FORMS.map(([row, error]) => [`the form of ${JSON.stringify(row)}`, row, error] as const),
];

/** 32 rows, of which the first are bad. */
const rowsWith = (bad: number, row: object) =>
  Array.from({ length: 32 }, (_, id) => ({ id, ...(id < bad && row) }));

async function expectToFailAlone(bad: number, row: object, error: object): Promise<void> {
  const responses = await Promise.all(rowsWith(bad, row).map((one) => send('POST', '/cells', one)));
  expect(
    responses.map(({ status, text }) => (status === 201 ? status : (JSON.parse(text) as unknown))),
  ).toEqual(rowsWith(bad, row).map(({ id }) => (id < bad ? error : 201)));
}

describe('rows that the database refuses', () => {
  beforeEach(() => database.query(`INSERT INTO cells (id, spot) VALUES (-1, '[5,6)')`));

  it.each(BAD)('fail alone, 20 in a group of 32 creates, because of %s', (_, row, error) =>
    expectToFailAlone(20, row, error),
  );

  it.each([1, 31])('fail alone, %i in a group of 32 creates', async (bad) => {
    const [, row, error] = BAD[0]!;
    await expectToFailAlone(bad, row, error);
  });

  it('are lines of the response to an import', async () => {
    // A bad line follows a good one, and at the end 40 good ones follow.
    const rows = [
      ...BAD.flatMap(([, row]) => [{}, row]),
      ...Array.from({ length: 40 }, () => ({})),
    ];
    const lines = rows.map((row, id) => JSON.stringify({ id, ...row }));
    const { text } = await send('POST', '/cells/import', lines.join('\n'));
    expect(
      text
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line) as unknown),
    ).toEqual([
      ...BAD.map(([, , error], at) => ({ line: 2 * at + 2, ...error })),
      { created: BAD.length + 40, unchanged: 0, refused: BAD.length },
    ]);
  });

  it.each([1, 20, 31])('are lines of the response to an import: %i in a row', async (bad) => {
    const [, row, error] = BAD[0]!;
    const lines = rowsWith(bad, row).map((one) => JSON.stringify(one));
    const { text } = await send('POST', '/cells/import', lines.join('\n'));
    expect(text.trim().split('\n')).toEqual([
      ...Array.from({ length: bad }, (_, at) => JSON.stringify({ line: at + 1, ...error })),
      JSON.stringify({ created: 32 - bad, unchanged: 0, refused: bad }),
    ]);
  });
});

it.each(FORMS)('a value of the wrong form is told whoever stores it: %j', async (row, error) => {
  const [{ id } = { id: 0 }] = await database.query(
    'INSERT INTO numbered_cells DEFAULT VALUES RETURNING id',
  );
  await send('POST', '/cells', { id: 1 });
  for (const [method, path, more] of [
    ['POST', '/cells', { id: 2 }],
    ['PATCH', '/cells/1', {}],
    ['PUT', '/cells/1', { id: 1 }],
    ['POST', '/numbered-cells', {}],
    ['PATCH', `/numbered-cells/${String(id)}`, {}],
    ['PUT', `/numbered-cells/${String(id)}`, {}],
  ] as const) {
    const answer = await send(method, path, { ...more, ...row });
    expect([path, answer.status, JSON.parse(answer.text)]).toEqual([path, 400, error]);
  }
});
