import {
  Body,
  Controller,
  Delete,
  Get,
  Headers,
  Injectable,
  Module,
  Param,
  Patch,
  Put,
  Query,
} from '@nestjs/common';
import type { StreamableFile } from '@nestjs/common';
import { ChangeOf, FeedModule, recordChanges } from '@resource-service/changes';
import { createChanges } from '@resource-service/changes/migrations';
import { Exclude } from 'class-transformer';
import { Column, DeleteDateColumn, Entity, Index, PrimaryGeneratedColumn } from 'typeorm';
import type { MigrationInterface, QueryRunner } from 'typeorm';
import { beforeEach, describe, expect, it } from 'vitest';
import {
  Actor,
  BodyTypes,
  DateField,
  DecimalField,
  DtoOf,
  ExportOf,
  FrameworkModule,
  GeneratedIdRepository,
  INT64_COLUMN,
  Int64Field,
  Int64Pipe,
  LinesFile,
  ListOf,
  PATCH_TYPES,
  PatchOf,
  ReplacementOf,
  Representation,
  RequestPrecondition,
  RequestSignal,
  RequireScope,
  ResourceModule,
  ServiceException,
  Sortable,
  TextField,
  UuidField,
} from '../../src/index.js';
import type { Filled, Lasting, Page, Precondition, Visible } from '../../src/index.js';
import { ENHANCERS } from '../support/enhancers.js';
import { errorsOf } from '../support/errors.js';
import { IDENTITY } from '../support/identity.js';
import { appOf, migrationOf, runningService } from '../support/running-service.js';
import { start } from '../support/start.js';
import { createTestDatabase } from '../support/test-database.js';

/* Notes, which their owners see and change. */

const ERRORS = errorsOf({
  noteNotFound: { number: 40486, message: 'there is no such note', remedy: 'Check the id' },
});

@Entity('notes')
class Note {
  @PrimaryGeneratedColumn('identity', INT64_COLUMN)
  @Int64Field({ description: 'Its number.' })
  readonly id!: Filled<bigint>;

  @Sortable()
  @Column('text')
  @TextField({ description: 'What it says.' })
  readonly text!: string;

  @Column({ type: 'text', name: 'created_by', update: false })
  @TextField({ description: 'Who wrote it.' })
  readonly createdBy!: Lasting<string>;
}

class NoteDto extends DtoOf(Note) {}
class ListNotesDto extends ListOf(Note) {}
class ExportNotesDto extends ExportOf(ListNotesDto) {}
class NoteReplacementDto extends ReplacementOf(Note) {}
@BodyTypes(...PATCH_TYPES)
class NotePatchDto extends PatchOf(Note) {}

@Index('note_changes_id_position_idx', ['id', 'position'])
@Entity('note_changes')
class NoteChange extends ChangeOf(Note) {}

const VISIBLE: Readonly<Record<string, ReturnType<Visible<Note>>>> = {
  editor: 'all',
  nobody: {},
  careless: [{ createdBy: 'ada' }, {}],
  pair: [{ createdBy: 'ada', text: 'b' }, { createdBy: 'bob' }],
  single: [{ createdBy: 'ada' }],
  stranger: [],
};

@Injectable()
class NotesRepository extends GeneratedIdRepository(Note, {
  name: 'notes',
  dto: NoteDto,
  filters: {},
  notFound: () => new ServiceException(ERRORS.noteNotFound),
  visible: ({ id }) => VISIBLE[id] ?? { createdBy: id },
  changes: recordChanges(NoteChange, 'note'),
}) {}

const actorOf = (user: string | undefined, kind = 'lab'): { actor?: Actor } => {
  if (user === undefined) return {};
  if (user === 'job') return { actor: Actor.system('tidy-up') };
  const principal = { kind, id: user, scopes: 'all' as const };
  return { actor: { principal, requestId: 'test' } };
};

const USER = 'x-user';

@Controller('notes')
class NotesController {
  constructor(private readonly notes: NotesRepository) {}

  @Get()
  @RequireScope('notes:read')
  list(@Query() query: ListNotesDto, @Headers(USER) user: string): Promise<Page<ListNotesDto>> {
    return this.notes.list(query, actorOf(user));
  }

  @Get('export')
  @RequireScope('notes:read')
  export(
    @Query() query: ExportNotesDto,
    @RequestSignal() signal: AbortSignal,
    @Headers(USER) user: string,
  ): StreamableFile {
    return new LinesFile(this.notes.export(query, signal, actorOf(user)));
  }

  @Get(':id')
  @RequireScope('notes:read')
  async get(
    @Param('id', Int64Pipe) id: bigint,
    @Headers(USER) user: string,
  ): Promise<Representation<NoteDto>> {
    return new Representation(await this.notes.find(id, actorOf(user)));
  }

  @Put(':id')
  @RequireScope('notes:write')
  replace(
    @Param('id', Int64Pipe) id: bigint,
    @Body() note: NoteReplacementDto,
    @RequestPrecondition() precondition: Precondition | undefined,
    @Headers(USER) user: string,
  ): Promise<NoteDto> {
    return this.notes.replace(id, note, { precondition, ...actorOf(user) });
  }

  @Patch(':id')
  @RequireScope('notes:write')
  patch(
    @Param('id', Int64Pipe) id: bigint,
    @Body() note: NotePatchDto,
    @RequestPrecondition() precondition: Precondition | undefined,
    @Headers(USER) user: string,
  ): Promise<NoteDto> {
    return this.notes.patch(id, note, { precondition, ...actorOf(user) });
  }

  @Delete(':id')
  @RequireScope('notes:write')
  remove(
    @Param('id', Int64Pipe) id: bigint,
    @RequestPrecondition() precondition: Precondition | undefined,
    @Headers(USER) user: string,
  ): Promise<void> {
    return this.notes.remove(id, { precondition, ...actorOf(user) });
  }
}

class CreateNotes1795700000000 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`CREATE TABLE notes (id bigint GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
      text text NOT NULL, created_by text NOT NULL)`);
    await queryRunner.query('CREATE INDEX ON notes (left(text, 100) COLLATE "C", id)');
    await queryRunner.query('CREATE INDEX ON notes (created_by, id)');
    await queryRunner.query(`CREATE TABLE note_changes (position bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
      time timestamptz(3) NOT NULL DEFAULT now(), kind text NOT NULL, principal text NOT NULL, request_id text NOT NULL,
      id bigint NOT NULL, text text, created_by text)`);
    await queryRunner.query(
      'CREATE INDEX note_changes_id_position_idx ON note_changes (id, position)',
    );
    await createChanges(queryRunner, { table: 'notes', changes: 'note_changes' });
  }

  down(): Promise<void> {
    return Promise.resolve();
  }
}

const AppModule = appOf([Note, NoteChange], [CreateNotes1795700000000], {
  controllers: [NotesController],
  providers: [NotesRepository],
});

describe('rows that their owners see', () => {
  const service = runningService(AppModule);

  beforeEach(async () => {
    await service.database.empty();
    await service.database.query(
      `INSERT INTO notes VALUES (1, 'b', 'ada'), (2, 'a', 'bob'), (3, 'a', 'ada'), (4, 'c', 'eve')`,
    );
  });

  const as = (user: string, method: string, path: string, body?: unknown, headers = {}) =>
    service.send(method, path, body, { [USER]: user, ...headers });

  const idsIn = (text: string) => [...text.matchAll(/"id":(\d)/g)].map(([, id]) => Number(id));

  it.each([
    ['ada', [1, 3], [3, 1]],
    ['bob', [2], [2]],
    ['cleo', [], []],
    ['pair', [1, 2], [2, 1]],
    ['single', [1, 3], [3, 1]],
    ['stranger', [], []],
    ['editor', [1, 2, 3, 4], [2, 3, 1, 4]],
    ['job', [1, 2, 3, 4], [2, 3, 1, 4]],
  ])('%s lists, counts, exports and finds %j', async (user, ids, byText) => {
    const list = await as(user, 'GET', '/notes?limit=50&count=true');
    expect(idsIn(list.text)).toEqual(ids);
    expect(list.headers.get('x-total-count')).toBe(String(ids.length));
    expect(idsIn((await as(user, 'GET', '/notes?sort=text')).text)).toEqual(byText);
    expect(idsIn((await as(user, 'GET', '/notes?ids=1,2,3,4')).text)).toEqual(ids);
    const counted = await as(user, 'GET', '/notes?limit=1&count=true');
    expect(counted.headers.get('x-total-count')).toBe(String(ids.length));
    expect(idsIn((await as(user, 'GET', '/notes/export')).text)).toEqual(ids);
    for (const id of [1, 2, 3, 4]) {
      const { status } = await as(user, 'GET', `/notes/${id}`);
      expect(status).toBe(ids.includes(id) ? 200 : 404);
    }
  });

  it('a Link does not name the owner', async () => {
    const { headers } = await as('ada', 'GET', '/notes?limit=1');
    expect(headers.get('link')).toBe('</notes?limit=1&after=1>; rel="next"');
  });

  it.each([undefined, '*'])('owners alone change them, with If-Match %s', async (ifMatch) => {
    const headers = ifMatch === undefined ? {} : { 'If-Match': ifMatch };
    for (const [method, body] of [
      ['PUT', { text: 'x' }],
      ['PATCH', { text: 'y' }],
      ['DELETE', undefined],
    ] as const) {
      for (const stranger of ['bob', 'stranger']) {
        const other = await as(stranger, method, '/notes/1', body, headers);
        expect(JSON.parse(other.text)).toMatchObject({ error: 40486 });
      }
      expect((await as('pair', method, '/notes/3', body, headers)).status).toBe(404);
      const own = await as('ada', method, '/notes/1', body, headers);
      expect(own.status).toBe(200);
      expect((await as('editor', method, '/notes/2', body, headers)).status).toBe(200);
    }
    const left = await service.database.query('SELECT id::int FROM notes ORDER BY id');
    expect(left).toEqual([{ id: 3 }, { id: 4 }]);
    const records = await service.database.query(
      'SELECT DISTINCT principal FROM note_changes WHERE id = 1',
    );
    expect(records).toEqual([{ principal: 'lab:ada' }]);
  });

  it.each([
    ['GET', '/notes'],
    ['GET', '/notes/1'],
    ['PATCH', '/notes/1'],
    ['DELETE', '/notes/1'],
  ])('%s %s fails without an actor, and with one without a condition', async (method, path) => {
    const body = method === 'PATCH' ? { text: 'x' } : undefined;
    expect((await service.send(method, path, body)).status).toBe(500);
    expect((await as('nobody', method, path, body)).status).toBe(500);
    expect((await as('careless', method, path, body)).status).toBe(500);
    expect(await service.database.query('SELECT count(*)::int FROM notes')).toEqual([{ count: 4 }]);
  });
});

/* Drafts, whose owners can restore them. */

@Entity('drafts')
class Draft {
  @PrimaryGeneratedColumn('identity', INT64_COLUMN)
  @Int64Field({ description: 'Its number.' })
  readonly id!: Filled<bigint>;

  @Column('text')
  @TextField({ description: 'Who wrote it.' })
  readonly owner!: string;

  @Exclude()
  @DeleteDateColumn({ type: 'timestamptz' })
  readonly removed!: Date | null;
}
class DraftDto extends DtoOf(Draft) {}

@Injectable()
class DraftsRepository extends GeneratedIdRepository(Draft, {
  name: 'drafts',
  dto: DraftDto,
  filters: {},
  notFound: () => new ServiceException(ERRORS.noteNotFound),
  visible: ({ id }) => [{ owner: id }, { owner: 'all' }],
}) {}

it('are changed many at once, and restored, by their owners', async () => {
  const tables = migrationOf(
    'CREATE TABLE drafts (id bigint GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY, owner text NOT NULL, removed timestamptz)',
    `INSERT INTO drafts VALUES (1, 'ada', NULL), (2, 'bob', NULL), (3, 'all', NULL), (4, 'ada', now()), (5, 'bob', now())`,
  );
  const database = await createTestDatabase();
  const service = await start(
    appOf([Draft], [tables], { providers: [DraftsRepository] }),
    database,
  );
  try {
    const drafts = service.get(DraftsRepository);
    const ada = actorOf('ada');
    const changed = await drafts.patchMany([1n, 2n, 3n, 4n], { owner: 'ada' }, ada);
    expect(changed.map(({ id }) => id)).toEqual([1n, 3n]);
    expect(await drafts.restore(4n, ada)).toEqual({ id: 4n, owner: 'ada' });
    for (const id of [2n, 5n]) {
      await expect(drafts.restore(id, ada)).rejects.toThrow('there is no such note');
    }
    const stored = await database.query(
      'SELECT id::int, owner FROM drafts WHERE removed IS NULL ORDER BY id',
    );
    expect(stored.map(({ owner }) => owner)).toEqual(['ada', 'bob', 'ada', 'ada']);
  } finally {
    await service.stop();
    await database.drop();
  }
});

/* Gifts, whose owners have a UUID. */

@Entity('gifts')
class Gift {
  @PrimaryGeneratedColumn('identity', INT64_COLUMN)
  @Int64Field({ description: 'Its number.' })
  readonly id!: Filled<bigint>;

  @Column('uuid')
  @UuidField({ description: 'Who gets it.' })
  readonly owner!: string;

  @Column('char', { length: 3, nullable: true })
  @TextField({ description: 'Where it is.', isOptional: true })
  readonly shelf!: string | null;

  @DateField({ description: 'When it is given.', isOptional: true })
  readonly day!: string | null;

  @DecimalField({ description: 'What it costs.', precision: 8, scale: 2, isOptional: true })
  readonly price!: string | null;
}
class GiftDto extends DtoOf(Gift) {}

@Injectable()
class GiftsRepository extends GeneratedIdRepository(Gift, {
  name: 'gifts',
  dto: GiftDto,
  filters: {},
  notFound: () => new ServiceException(ERRORS.noteNotFound),
  visible: ({ kind, id }) => {
    if (kind === 'day') return { day: id };
    if (kind === 'price') return { price: id };
    return id === 'clerk' ? { shelf: 'a' } : { owner: id };
  },
}) {}

const OWNER = '01920000-0000-7000-8000-00000000000a';
const OTHER = '01920000-0000-7000-8000-00000000000b';

async function withGifts(use: (gifts: GiftsRepository) => Promise<void>): Promise<void> {
  const tables = migrationOf(
    'CREATE TABLE gifts (id bigint GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY, owner uuid NOT NULL, shelf char(3), day date, price numeric(8,2))',
    `INSERT INTO gifts VALUES (1, '${OWNER}')`,
    `INSERT INTO gifts VALUES (2, '${OTHER}', NULL, '2026-01-02', 1.5), (3, '${OTHER}', NULL, '2026-01-03', 0)`,
  );
  const database = await createTestDatabase();
  const service = await start(appOf([Gift], [tables], { providers: [GiftsRepository] }), database);
  try {
    await use(service.get(GiftsRepository));
  } finally {
    await service.stop();
    await database.drop();
  }
}

it('are found and listed by an owner whose UUID is in upper case', () =>
  withGifts(async (gifts) => {
    const context = actorOf(OWNER.toUpperCase());
    const { items } = await gifts.list({ limit: 5 }, context);
    expect(items).toEqual([`{"id":1,"owner":"${OWNER}"}`]);
    expect(await gifts.find(1n, context)).toEqual({ id: 1n, owner: OWNER });
  }));

it('are none for a principal whose id is no UUID, such as a static token', () =>
  withGifts(async (gifts) => {
    const context = actorOf('AUTH_TOKEN');
    expect((await gifts.list({ limit: 5 }, context)).items).toEqual([]);
    await expect(gifts.find(1n, context)).rejects.toThrow('there is no such note');
    await expect(gifts.patch(1n, {}, context)).rejects.toThrow('there is no such note');
    const nested = { ...actorOf('job'), where: { owner: 'AUTH_TOKEN' } };
    expect((await gifts.list({ limit: 5 }, nested)).items).toEqual([]);
  }));

it('cannot be those with a value that PostgreSQL pads, which look-ups would not find', () =>
  withGifts(async (gifts) => {
    const context = actorOf('clerk');
    const message =
      'visible cannot compare shelf: equal values of the type character(3) can be written differently';
    await expect(gifts.list({ limit: 5 }, context)).rejects.toThrow(message);
    await expect(gifts.find(1n, context)).rejects.toThrow(message);
  }));

it.each([
  ['day', '2026-01-02'],
  ['price', '1.50'],
])('can be those with the %s %s', (kind, value) =>
  withGifts(async (gifts) => {
    const context = actorOf(value, kind);
    const gift = { id: 2n, owner: OTHER, day: '2026-01-02', price: '1.50' };
    const { items } = await gifts.list({ limit: 5 }, context);
    expect(items.map((item) => JSON.parse(item) as unknown)).toEqual([{ ...gift, id: 2 }]);
    expect(await gifts.find(2n, context)).toEqual(gift);
    expect(await gifts.patch(2n, {}, context)).toEqual(gift);
    await expect(gifts.find(3n, context)).rejects.toThrow('there is no such note');
    await expect(gifts.patch(3n, {}, context)).rejects.toThrow('there is no such note');
  }),
);

it.each([
  ['day', '2026-1-2', 'date'],
  ['day', 'today', 'date'],
  ['day', '2026-02-30', 'date'],
  ['price', '1.5', 'numeric(8,2)'],
  ['price', '01.50', 'numeric(8,2)'],
  ['price', '-0.00', 'numeric(8,2)'],
])('cannot be those with the %s %s, which responses never have', (kind, value, type) =>
  withGifts(async (gifts) => {
    const context = actorOf(value, kind);
    const message = `visible cannot compare ${kind}: equal values of the type ${type} can be written differently`;
    await expect(gifts.list({ limit: 5 }, context)).rejects.toThrow(message);
    await expect(gifts.find(1n, context)).rejects.toThrow(message);
  }),
);

it('have no feed', async () => {
  @Module({
    imports: [
      ResourceModule.forFeature([Note, NoteChange], { migrations: [CreateNotes1795700000000] }),
    ],
    providers: [NotesRepository],
    exports: [NotesRepository],
  })
  class NotesModule {}
  const feed = FeedModule.forFeature({
    module: NotesModule,
    repository: NotesRepository,
    one: 'a note',
    plural: 'notes',
    property: 'note',
    path: 'note-changes',
    scope: 'changes:read',
    stored: NoteDto,
    schema: 'NoteChange',
    operationIds: ['listNoteChanges', 'getLatestNotePosition'],
    example: { id: 1, text: 'a', createdBy: 'ada' },
  });
  @Module({
    imports: [FrameworkModule.forRoot(IDENTITY), NotesModule, feed],
    providers: ENHANCERS,
  })
  class FeedAppModule {}
  const database = await createTestDatabase();
  await expect(start(FeedAppModule, database)).rejects.toThrow(
    'NotesRepository has the option visible, so it cannot have a feed',
  );
  await database.drop();
});
