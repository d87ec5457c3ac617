import { Body, Controller, Get, Injectable, Post, Query } from '@nestjs/common';
import { Column, Entity, PrimaryColumn } from 'typeorm';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Service } from '../../src/app/service.js';
import {
  DtoOf,
  GeneratedIdRepository,
  NewOf,
  NoOtherParameters,
  RequireScope,
  ServiceException,
  StartupError,
  TextField,
  UUID_COLUMN,
  UuidField,
  UuidListParameters,
} from '../../src/index.js';
import type { Page } from '../../src/index.js';
import { errorsOf } from '../support/errors.js';
import { appOf, migrationOf, senderTo } from '../support/running-service.js';
import { start } from '../support/start.js';
import { createTestDatabase } from '../support/test-database.js';
import type { TestDatabase } from '../support/test-database.js';

/* Two services on one database, with tables, functions and migrations of the same names. */

const ERRORS = errorsOf({
  missing: { number: 40_470, message: 'there is none', remedy: 'Create it' },
});

@Entity('notes')
class Note {
  @PrimaryColumn(UUID_COLUMN)
  @UuidField({ description: 'The id.' })
  readonly id!: string;

  @Column('text')
  @TextField({ description: 'The text.' })
  readonly text!: string;
}

class NoteDto extends DtoOf(Note) {}

class NewNoteDto extends NewOf(Note) {}

@NoOtherParameters()
class ListNotesDto extends UuidListParameters {}

@Injectable()
class NotesRepository extends GeneratedIdRepository<Note, ListNotesDto>(Note, {
  name: 'notes',
  dto: NoteDto,
  filters: {},
  notFound: () => new ServiceException(ERRORS.missing),
}) {}

@Controller('notes')
class NotesController {
  constructor(private readonly notes: NotesRepository) {}

  @Post()
  @RequireScope('notes:write')
  create(@Body() note: NewNoteDto): Promise<NoteDto> {
    return this.notes.create(note);
  }

  @Get()
  @RequireScope('notes:read')
  list(@Query() query: ListNotesDto): Promise<Page<ListNotesDto>> {
    return this.notes.list(query);
  }
}

const app = appOf(
  [Note],
  [migrationOf('CREATE TABLE notes (id uuid DEFAULT uuid_v7() PRIMARY KEY, text text NOT NULL)')],
  { controllers: [NotesController], providers: [NotesRepository] },
);

const SCHEMAS = ['tools', 'Of "plants"'];

let database: TestDatabase;
let services: readonly Service[];

beforeAll(async () => {
  database = await createTestDatabase();
  // Both migrate at once.
  services = await Promise.all(
    SCHEMAS.map((schema) => start(app, database, { DATABASE_SCHEMA: schema })),
  );
});

afterAll(async () => {
  await Promise.all(services.map((service) => service.stop()));
  await database.drop();
});

async function textsOf(service: Service): Promise<readonly string[]> {
  const { text } = await senderTo(() => service)('GET', '/notes');
  return (JSON.parse(text) as readonly { readonly text: string }[]).map((note) => note.text);
}

it('each has its own rows', async () => {
  for (const [n, service] of services.entries()) {
    const { status } = await senderTo(() => service)('POST', '/notes', { text: SCHEMAS[n] });
    expect(status).toBe(201);
  }
  for (const [n, service] of services.entries()) {
    expect(await textsOf(service)).toEqual([SCHEMAS[n]]);
  }
});

it('each has all of its tables and functions, and none is elsewhere', async () => {
  const found = await database.query(
    `SELECT nspname AS schema, string_agg(name, ' ' ORDER BY name) AS names FROM (
       SELECT relnamespace AS schema, relname AS name FROM pg_class WHERE relkind = 'r'
       UNION ALL SELECT pronamespace, proname FROM pg_proc WHERE prolang <> 12 AND prolang <> 13
     ) AS objects JOIN pg_namespace ON oid = schema
     WHERE nspname NOT IN ('pg_catalog', 'information_schema') GROUP BY 1 ORDER BY 1 COLLATE "C" DESC`,
  );
  const names = expect.stringMatching(/^access_tokens idempotency_keys notes .*uuid_v7/) as string;
  expect(found).toEqual(SCHEMAS.map((schema) => ({ schema, names })));
});

it('a restart finds its schema, and a service without the variable none of them', async () => {
  const again = await start(app, database, {
    DATABASE_SCHEMA: SCHEMAS[1]!,
    DATABASE_MIGRATE_ON_START: 'false',
  });
  expect(await textsOf(again)).toEqual([SCHEMAS[1]]);
  await again.stop();
  const without = await start(app, database);
  expect(await textsOf(without)).toEqual([]);
  await without.stop();
  const third = await start(app, database, { DATABASE_SCHEMA: 'third' });
  expect(await textsOf(third)).toEqual([]);
  await third.stop();
});

it('a name that PostgreSQL keeps for itself is rejected', () => {
  expect(() => start(app, database, { DATABASE_SCHEMA: 'pg_tools' })).toThrow(StartupError);
});
