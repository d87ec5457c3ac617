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
  Query,
} from '@nestjs/common';
import { IsLatitude, IsNumber } from 'class-validator';
import fc from 'fast-check';
import { Column, Entity, PrimaryColumn } from 'typeorm';
import { beforeEach, describe, expect, it } from 'vitest';
import { RequestSignal } from '../../src/http/responses/request-signal.js';
import type { Precondition } from '../../src/http/responses/entity-tag.js';
import type { BodyLine } from '../../src/http/body/body-lines.js';
import { NdjsonLines } from '../../src/http/body/ndjson.js';
import {
  DtoOf,
  INT64_COLUMN,
  Int64Field,
  Int64Pipe,
  isEqual,
  LinesFile,
  ListOf,
  NoOtherParameters,
  PatchOf,
  ReplacementOf,
  Representation,
  RequestPrecondition,
  RequireScope,
  ResourceRepository,
  ServiceException,
  Sortable,
  TIMESTAMP_COLUMN,
  TimestampField,
} from '../../src/index.js';
import type { Page } from '../../src/index.js';
import { stringifyExactJson, JsonText, parseStoredJson } from '../../src/json/exact-json.js';
import { errorsOf } from '../support/errors.js';
import { PATIENT } from '../support/patience.js';
import { appOf, migrationOf, runningService } from '../support/running-service.js';
import { Any } from '../support/any.js';

const ERRORS = errorsOf({
  taken: { number: 40980, message: 'the id is taken', remedy: 'Choose another one' },
  missing: { number: 40480, message: 'there is no such note', remedy: 'Create it' },
});

@Entity('notes')
class Note {
  @PrimaryColumn(INT64_COLUMN)
  @Int64Field({ description: 'Its id.' })
  readonly id!: bigint;

  @Column('jsonb', { nullable: true })
  @Any()
  readonly document!: unknown;

  @Sortable()
  @Column({ ...TIMESTAMP_COLUMN, nullable: true })
  @TimestampField({ description: 'A moment.', isOptional: true })
  readonly moment!: Date | null;

  @Column('timestamp', { nullable: true })
  @Any()
  readonly local!: Date | null;

  /** Whoever transforms a value expects one that he knows. */
  @Column('timestamptz', {
    nullable: true,
    transformer: {
      from: (time: Date | null) => time?.getTime() ?? null,
      to: (time: unknown) => time,
    },
  })
  @Any()
  readonly milliseconds!: number | null;

  @Sortable()
  @Column('date', { nullable: true })
  @Any()
  readonly day!: string | null;

  @Column('date', { array: true, nullable: true })
  @Any()
  readonly days!: string[] | null;

  @Column('timestamptz', { array: true, nullable: true })
  @Any()
  readonly moments!: Date[] | null;

  @Column('double precision', { nullable: true })
  @Any()
  @IsNumber()
  readonly weight!: number | null;

  @Column('double precision', { nullable: true })
  @Any()
  @IsLatitude()
  readonly latitude!: number | null;

  @Column('real', { array: true, nullable: true })
  @Any()
  readonly weights!: number[] | null;

  @Column('numeric', { nullable: true })
  @Any()
  readonly amount!: string | null;

  @Column('interval', { nullable: true })
  @Any()
  readonly lasts!: string | null;

  @Column('money', { nullable: true })
  @Any()
  readonly price!: string | null;

  @Column('text', { array: true, nullable: true })
  @Any()
  readonly words!: string[] | null;

  @Column('character varying', { array: true, nullable: true })
  @Any()
  readonly codes!: string[] | null;

  @Column('char', { length: 5, nullable: true })
  @Any()
  readonly code!: string | null;

  @Column('character varying', { nullable: true })
  @Any()
  readonly title!: string | null;
}

class NoteDto extends DtoOf(Note) {}
class NoteReplacementDto extends ReplacementOf(Note) {}
class NotePatchDto extends PatchOf(Note) {}

@NoOtherParameters()
class ListNotesDto extends ListOf(Note) {
  @Any()
  readonly title?: string;
}

const CREATE_NOTES = migrationOf(
  `CREATE TABLE notes (id bigint PRIMARY KEY, document jsonb, moment timestamptz(3), local timestamp,
      milliseconds timestamptz, day date, days date[], moments timestamptz[], weight float8, latitude float8, weights real[], amount numeric,
      lasts interval, price money, words text[], codes varchar[], code char(5), title varchar)`,
  'CREATE INDEX ON notes (moment, id)',
  'CREATE INDEX ON notes (day, id)',
);

@Injectable()
class NotesRepository extends ResourceRepository<Note, ListNotesDto>(Note, {
  name: 'notes',
  dto: NoteDto,
  filters: { title: isEqual('title') },
  idTaken: () => new ServiceException(ERRORS.taken),
  notFound: () => new ServiceException(ERRORS.missing),
}) {}

@Controller('notes')
class NotesController {
  constructor(private readonly notes: NotesRepository) {}

  @Post()
  @HttpCode(200)
  @RequireScope('notes:write')
  create(@Body() note: NoteDto): Promise<NoteDto> {
    return this.notes.create(note);
  }

  @Post('import')
  @HttpCode(200)
  @RequireScope('notes:write')
  import(
    @NdjsonLines() lines: AsyncIterable<readonly BodyLine[]>,
    @RequestSignal() signal: AbortSignal,
  ): LinesFile {
    return new LinesFile(this.notes.import(lines, signal), { endsInError: true });
  }

  @Get()
  @RequireScope('notes:read')
  list(@Query() query: ListNotesDto): Promise<Page<ListNotesDto>> {
    return this.notes.list(query);
  }

  @Get('export')
  @RequireScope('notes:read')
  export(@RequestSignal() signal: AbortSignal): LinesFile {
    return new LinesFile(this.notes.export({}, signal), { endsInError: true });
  }

  @Get(':id')
  @RequireScope('notes:read')
  async get(@Param('id', Int64Pipe) id: bigint): Promise<Representation<NoteDto>> {
    return new Representation(await this.notes.find(id));
  }

  @Put(':id')
  @RequireScope('notes:write')
  replace(
    @Param('id', Int64Pipe) id: bigint,
    @Body() note: NoteReplacementDto,
    @RequestPrecondition() precondition: Precondition | undefined,
  ): Promise<NoteDto> {
    return this.notes.replace(id, note, { precondition });
  }

  @Patch(':id')
  @RequireScope('notes:write')
  patch(
    @Param('id', Int64Pipe) id: bigint,
    @Body() note: NotePatchDto,
    @RequestPrecondition() precondition: Precondition | undefined,
  ): Promise<NoteDto> {
    return this.notes.patch(id, note, { precondition });
  }
}

const service = runningService(
  appOf([Note], [CREATE_NOTES], {
    controllers: [NotesController],
    providers: [NotesRepository],
  }),
  {},
  PATIENT,
);
const { send } = service;

beforeEach(() => service.database.empty());

const storedDocument = async (id: number): Promise<unknown> => {
  const [row] = await service.database.query(
    'SELECT document::text AS text FROM notes WHERE id = $1',
    [id],
  );
  return row?.['text'];
};

/** JSON in which a number is, and how PostgreSQL writes the number. */
const NUMBERS: readonly (readonly [string, string])[] = [
  ['9007199254740993', '9007199254740993'],
  ['-9223372036854775809', '-9223372036854775809'],
  ['123456789012345678901234567890', '123456789012345678901234567890'],
  ['0.1234567890123456789012', '0.1234567890123456789012'],
  [
    '-0.00000000000000000000012345678901234567890123',
    '-0.00000000000000000000012345678901234567890123',
  ],
  ['3.14159265358979323846264338327950288', '3.14159265358979323846264338327950288'],
  ['9007199254740992.5', '9007199254740992.5'],
  ['12345678901234567890e5', '1234567890123456789000000'],
  ['1e-320', `0.${'0'.repeat(319)}1`],
  ['9.99999999999999999999e399', `999999999999999999999${'0'.repeat(379)}`],
  ['7', '7'],
  ['0.5', '0.5'],
];

describe('numbers of JSON', () => {
  it.each(NUMBERS)('keep all digits wherever they are: %s', async (sent, stored) => {
    for (const [at, around] of ['$', '[$]', '{"a": {"b": [1, $]}}'].entries()) {
      const document = around.replace('$', () => sent);
      const wanted = around.replace('$', () => stored);
      const answered = wanted.replaceAll(' ', '');
      const id = at + 1;
      const text = `{"id":${id},"document":${answered}}`;
      const created = await send('POST', '/notes', `{"id":${id},"document":${document}}`);
      expect(created).toMatchObject({ status: 200, text });
      expect(await storedDocument(id)).toBe(wanted);
      // A replay is the same, whatever its notation.
      expect(await send('POST', '/notes', `{"id":${id},"document":${wanted}}`)).toMatchObject({
        status: 200,
        text,
      });
      const found = await send('GET', `/notes/${id}`);
      expect(found.text).toBe(text);
      expect((await send('GET', '/notes')).text).toContain(found.text);
      expect((await send('GET', '/notes/export')).text).toContain(`${found.text}\n`);
      const headers = { 'If-Match': found.headers.get('ETag')! };
      const title = await send('PATCH', `/notes/${id}`, '{"title":"a"}', headers);
      expect(title).toMatchObject({
        status: 200,
        text: `{"id":${id},"document":${answered},"title":"a"}`,
      });
      await send('PATCH', `/notes/${id}`, '{"document":0}');
      expect((await send('PATCH', `/notes/${id}`, `{"document":${document}}`)).text).toBe(
        title.text,
      );
      expect(await storedDocument(id)).toBe(wanted);
      const replaced = await send('PUT', `/notes/${id}`, `{"document":${document}}`);
      expect(replaced.text).toBe(found.text);
      expect(await storedDocument(id)).toBe(wanted);
      const line = `{"id":${id + 10},"document":${document}}`;
      expect((await send('POST', '/notes/import', line)).text).toBe(
        '{"created":1,"unchanged":0,"refused":0}\n',
      );
      expect(await storedDocument(id + 10)).toBe(wanted);
    }
  });

  it.each([
    '1e400',
    '-1e400',
    '[1e131071]',
    '{"a":1e-1000}',
    '1e99999999999999999999',
    `1${'0'.repeat(400)}`,
  ])('are refused if they are too long: %.20s', async (number) => {
    const message =
      'document must not contain numbers of more than 400 digits, written without an exponent';
    for (const [method, path] of [
      ['POST', '/notes'],
      ['PATCH', '/notes/1'],
      ['PUT', '/notes/1'],
    ] as const) {
      const answer = await send(method, path, `{"id":1,"document":${number}}`);
      expect(answer).toMatchObject({
        status: 400,
        text: JSON.stringify({ error: 40003, message }),
      });
      await send('POST', '/notes', '{"id":1}');
    }
  });

  it.each([
    [500, true],
    [501, false],
  ])('are parsed in %i levels, whatever the strings beside them: %s', (levels, isParsed) => {
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom('"', '\\', '[', '}', 'a') }), (string) => {
        const json = `${'['.repeat(levels - 1)}{${JSON.stringify(string)}:1}${']'.repeat(levels - 1)}`;
        expect(parseStoredJson(json) instanceof JsonText).toBe(!isParsed);
        expect(stringifyExactJson(parseStoredJson(json))).toBe(json);
      }),
    );
  });

  it.each([
    ['text', 'a'],
    ['escapes', String.raw`\"\\`],
    ['brackets', '[{'],
  ])('are read beside a text of 20 MB: %s', (_, part) => {
    const json = `{"a":[9007199254740993,"${part.repeat(20_000_000 / part.length)}"]}`;
    expect(stringifyExactJson(parseStoredJson(json)) === json).toBe(true);
  });

  it.each(['weight', 'latitude'])(
    'of a member that is a number are rounded like a double: %s',
    async (name) => {
      const sent = `{"id":1,"${name}":0.1234567890123456789012}`;
      const answer = await send('POST', '/notes', sent);
      expect(answer.text).toBe(`{"id":1,"${name}":0.12345678901234568}`);
      expect((await send('GET', '/notes/1')).text).toBe(answer.text);
      expect(await send('PUT', '/notes/1', sent)).toMatchObject({ status: 200, text: answer.text });
      expect(await send('PATCH', '/notes/1', sent)).toMatchObject({
        status: 200,
        text: answer.text,
      });
    },
  );

  it('are written as they are read, whatever they are', () => {
    fc.assert(
      fc.property(fc.stringMatching(/^-?(0|[1-9]\d{0,40})(\.\d{1,40})?$/), (number) => {
        const written = stringifyExactJson(parseStoredJson(`[${number}]`)).slice(1, -1);
        const plain = (text: string) => (text.includes('.') ? text.replace(/\.?0+$/, '') : text);
        expect(plain(written).replace(/^-0$/, '0')).toBe(plain(number).replace(/^-0$/, '0'));
      }),
    );
  });
});

describe('text that PostgreSQL cannot hold', () => {
  const NUL = String.raw`\u0000`;
  const LONE = String.raw`\ud800`;

  it.each([
    ['document', `"${NUL}"`],
    ['document', `{"a":["b${NUL}"]}`],
    ['document', `{"a${NUL}":1}`],
    ['document', `[{"${LONE}":1}]`],
    ['document', `["${LONE}"]`],
    ['words', `["a","b${NUL}"]`],
    ['words', `["${LONE}"]`],
    ['codes', `["${NUL}"]`],
    ['codes', `["a${LONE}b"]`],
    ['code', `"a${NUL}"`],
    ['code', `"${LONE}"`],
    ['title', `"${NUL}"`],
    ['title', `"${LONE}"`],
  ])('is refused with the name of the member: %s %s', async (member, value) => {
    const answer = {
      status: 400,
      text: `{"error":40003,"message":"${member} must not contain U+0000 or unpaired surrogates"}`,
    };
    const body = `{"id":1,"${member}":${value}}`;
    expect(await send('POST', '/notes', body)).toMatchObject(answer);
    expect((await send('POST', '/notes/import', body)).text).toMatch(
      `"error":40003,"message":"${member} must not`,
    );
    await send('POST', '/notes', '{"id":1}');
    expect(await send('PATCH', '/notes/1', body)).toMatchObject(answer);
    expect(await send('PUT', '/notes/1', body)).toMatchObject(answer);
  });

  it('is refused in a filter', async () => {
    expect(await send('GET', '/notes?title=a%00')).toMatchObject({
      status: 400,
      text: '{"error":40004,"message":"title must not contain U+0000 or unpaired surrogates"}',
    });
  });

  it('is no other text', async () => {
    const body = JSON.stringify({
      id: 1,
      document: { '😀': ['\u{10FFFF}', '\u0001'] },
      words: ['😀', '\\u0000'],
    });
    expect(await send('POST', '/notes', body)).toMatchObject({ status: 200, text: body });
    expect((await send('GET', '/notes/1')).text).toBe(body);
  });
});

/** A value in SQL, and in JSON. */
const VALUES: readonly (readonly [column: string, sql: string, json: string])[] = [
  ...['moment', 'local', 'milliseconds', 'day'].flatMap((column) =>
    ['infinity', '-infinity'].map((text) => [column, text, `"${text}"`] as const),
  ),
  ['moment', '0044-03-15 12:00:00+00 BC', '"-000043-03-15T12:00:00.000Z"'],
  ['moment', '12026-01-02 03:04:05+00', '"+012026-01-02T03:04:05.000Z"'],
  ['moment', '294276-12-31 23:59:59+00', '"294276-12-31 23:59:59+00"'],
  ['moment', '4713-11-25 00:00:00+00 BC', '"-004712-11-25T00:00:00.000Z"'],
  ['local', '294276-12-31 23:59:59.123456', '"294276-12-31 23:59:59.123456"'],
  ['milliseconds', '294276-12-31 23:59:59+00', '"294276-12-31 23:59:59+00"'],
  ['day', '0044-03-15 BC', '"0044-03-15 BC"'],
  ['day', '4713-01-01 BC', '"4713-01-01 BC"'],
  ['day', '12026-01-02', '"12026-01-02"'],
  ['day', '5874897-12-31', '"5874897-12-31"'],
  ['day', '2011-12-30', '"2011-12-30"'],
  [
    'days',
    '{infinity,2026-01-02,NULL,"0044-03-15 BC"}',
    '["infinity","2026-01-02",null,"0044-03-15 BC"]',
  ],
  ['moments', '{-infinity,"2026-01-02 03:04:05+00"}', '["-infinity","2026-01-02T03:04:05.000Z"]'],
  ['weight', 'NaN', '"NaN"'],
  ['weight', 'Infinity', '"Infinity"'],
  ['weight', '-Infinity', '"-Infinity"'],
  ['weight', '1e300', '1e+300'],
  ['weights', '{NaN,1.5,NULL,-Infinity}', '["NaN",1.5,null,"-Infinity"]'],
  ['amount', 'NaN', '"NaN"'],
  ['amount', 'Infinity', '"Infinity"'],
  ['price', '-92233720368547758.08', '"-$92,233,720,368,547,758.08"'],
  [
    'document',
    `${'['.repeat(3_000)}${']'.repeat(3_000)}`,
    `${'['.repeat(3_000)}${']'.repeat(3_000)}`,
  ],
];

describe('a value that JavaScript, or JSON, has none for', () => {
  it.each(VALUES)(
    'is its text in each response, and keeps no list from being read: %s %.40s',
    async (column, sql, json) => {
      await service.database.query('INSERT INTO notes (id) VALUES (1), (3)');
      await service.database.query(`INSERT INTO notes (id, ${column}) VALUES (2, $1)`, [sql]);
      const row = `{"id":2,"${column}":${json}}`;
      const found = await send('GET', '/notes/2');
      expect(found).toMatchObject({ status: 200, text: row });
      const all = await Promise.all(
        [
          '/notes',
          '/notes?sort=-id',
          '/notes?sort=moment',
          '/notes?sort=-day',
          '/notes/export',
        ].map((path) => send('GET', path)),
      );
      for (const { status, text } of all) {
        expect(status).toBe(200);
        expect(text).toContain(row);
      }
      const together = await Promise.all([1, 2, 3].map((id) => send('GET', `/notes/${id}`)));
      expect(together.map(({ status }) => status)).toEqual([200, 200, 200]);
      const changed = `{"id":2,"${column}":${json},"title":"a"}`;
      const patched = await send('PATCH', '/notes/2', '{"title":"a"}', {
        'If-Match': found.headers.get('ETag')!,
      });
      expect(patched).toMatchObject({ status: 200, text: changed });
      expect((await send('PATCH', '/notes/2', '{"title":"a"}')).text).toBe(changed);
    },
  );

  it.each(VALUES.filter(([column]) => column === 'day' || column === 'amount'))(
    'is its text in the response to its create: %s %s',
    async (column, sql, json) => {
      const text = `{"id":2,"${column}":${json}}`;
      const created = await send('POST', '/notes', JSON.stringify({ id: 2, [column]: sql }));
      expect(created).toMatchObject({ status: 200, text });
      expect((await send('GET', '/notes/2')).text).toBe(text);
    },
  );

  it.each(VALUES)(
    'is stored when it is sent back, or refused with its name: %s %.40s',
    async (column, sql, json) => {
      await service.database.query(`INSERT INTO notes (id, ${column}) VALUES (2, $1)`, [sql]);
      const { text } = await send('GET', '/notes/2');
      const answers = [
        await send('PUT', '/notes/2', text),
        await send('PATCH', '/notes/2', text),
        await send('POST', '/notes', text),
        await send('POST', '/notes', text.replace('"id":2', '"id":3')),
      ];
      const isTime = /^(local|days?|moments)$/.test(column);
      for (const answer of answers) {
        if (isTime) expect(answer.text).toContain(`"${column}":${json}`);
        else if (answer.status !== 200)
          expect(answer).toMatchObject({
            status: 400,
            text: expect.stringMatching(`"${column} must|nested deeper`),
          });
      }
    },
  );

  it.each([
    ...['local', 'milliseconds', 'day', 'days', 'moments'].flatMap((column) =>
      ['nonsense', '', '2026-02-30', '2026-13-01', '0000-01-01', '5874898-01-01', '4715-01-01 BC']
        .map((text) => JSON.stringify(text))
        .concat('true', '{}', '0.5', '9007199254740993', '0.99999999999999999999', '"infinit"')
        .map(
          (value) =>
            [column, column.endsWith('ys') || column === 'moments' ? `[${value}]` : value] as const,
        ),
    ),
    ['local', '294277-01-01 00:00:00'],
  ] as const)('is no other text: %s %s', async (column, value) => {
    await send('POST', '/notes', '{"id":1}');
    const body = `{"id":1,"${column}":${value.startsWith('2942') ? `"${value}"` : value}}`;
    for (const [method, path] of [
      ['POST', '/notes'],
      ['PATCH', '/notes/1'],
      ['PUT', '/notes/1'],
    ] as const) {
      expect(await send(method, path, body)).toMatchObject({
        status: 400,
        text: `{"error":40003,"message":"${column} must be an existing time"}`,
      });
    }
  });

  it.each(['moment', 'day'])('is a place in the order of a list: %s', async (column) => {
    const values = ['-infinity', '0044-03-15 BC', '2026-01-02', '12026-01-02', 'infinity', null];
    for (const [id, value] of values.entries()) {
      await service.database.query(`INSERT INTO notes (id, ${column}) VALUES ($1, $2)`, [
        id,
        value,
      ]);
    }
    const ids: number[] = [];
    let path: string | undefined = `/notes?limit=1&sort=${column}`;
    while (path !== undefined) {
      const { text, headers } = await send('GET', path);
      ids.push(...(JSON.parse(text) as { id: number }[]).map(({ id }) => id));
      path = /^<([^>]+)>/.exec(headers.get('Link') ?? '')?.[1];
    }
    expect(ids).toEqual([0, 1, 2, 3, 4, 5]);
  });
});
