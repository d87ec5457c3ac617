import { randomUUID } from 'node:crypto';
import { Body, Controller, Get, Injectable, Post, Query } from '@nestjs/common';
import { pino } from 'pino';
import { Column, Entity, PrimaryColumn } from 'typeorm';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { schemaOf } from '../../src/app/detached-app.js';
import type { Service } from '../../src/app/service.js';
import { connect } from '../../src/database/connect.js';
import { applyMigrations, revertMigration } from '../../src/database/migrations/migrate.js';
import {
  DtoOf,
  GeneratedIdRepository,
  NewOf,
  NoOtherParameters,
  RequireScope,
  ServiceException,
  TextField,
  UUID_COLUMN,
  UuidField,
  UuidListParameters,
} from '../../src/index.js';
import type { Page, StartupError } from '../../src/index.js';
import { schemaDifferences } from '../../src/testing.js';
import { dataSourceFor } from '../support/data-source.js';
import { errorsOf } from '../support/errors.js';
import { IDENTITY } from '../support/identity.js';
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

const SCHEMAS = ['notes', 'tools'] as const;

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
       UNION ALL SELECT pronamespace, proname FROM pg_proc
     ) AS objects JOIN pg_namespace ON oid = schema
     WHERE nspname NOT IN ('pg_catalog', 'information_schema') GROUP BY 1 ORDER BY 1`,
  );
  const names = 'access_tokens idempotency_keys notes tool_library_migrations uuid_v7';
  expect(found).toEqual(SCHEMAS.map((schema) => ({ schema, names })));
});

it('no migration is missing in a schema that the same start has created', async () => {
  for (const service of services) expect(await schemaDifferences(service)).toEqual([]);
});

it('the last migration is taken back in one schema', async () => {
  const third = dataSourceFor({ identity: IDENTITY, schema: await schemaOf(app) }, database.url, {
    schema: 'third',
  });
  const waiting = { log: pino({ level: 'silent' }), signal: new AbortController().signal };
  const list = (schema: string) =>
    database.query(`SELECT name FROM ${schema}.tool_library_migrations ORDER BY id`);
  await connect(third, waiting);
  await applyMigrations(third, waiting);
  expect(await list('third')).toEqual(await list('tools'));
  await revertMigration(third, waiting);
  expect(await list('third')).toEqual((await list('tools')).slice(0, -1));
  await third.destroy();
  await database.query('DROP SCHEMA third CASCADE');
});

it('a restart finds its schema, and a service without the variable none of them', async () => {
  const again = await start(app, database, {
    DATABASE_SCHEMA: SCHEMAS[1],
    DATABASE_MIGRATE_ON_START: 'false',
  });
  expect(await textsOf(again)).toEqual([SCHEMAS[1]]);
  await again.stop();
  const without = await start(app, database);
  expect(await textsOf(without)).toEqual([]);
  await without.stop();
  // Although the tables of another one are in the search path.
  const third = await start(app, database, { DATABASE_SCHEMA: 'third' });
  expect(await textsOf(third)).toEqual([]);
  await third.stop();
});

describe('a role that may not create a schema', () => {
  const role = `role_${randomUUID().replaceAll('-', '')}`;
  const startAs = (schema: string) => {
    const url = Object.assign(new URL(database.url), { username: role, password: 'secret' }).href;
    return start(app, { ...database, url }, { DATABASE_SCHEMA: schema });
  };

  beforeAll(() => database.query(`CREATE ROLE ${role} LOGIN PASSWORD 'secret'`));

  afterAll(() => database.query(`DROP OWNED BY ${role} CASCADE; DROP ROLE ${role}`));

  it.each([
    ['missing', 'lacking', 'there is no such schema, and the role may not create it'],
    ['of another role', 'tools', 'the role may not use the schema'],
  ])('is told the statement for one that is %s', async (_, schema, reason) => {
    const message: unknown = await startAs(schema).catch(({ message: text }: StartupError) => text);
    const [, statement] =
      new RegExp(`^DATABASE_SCHEMA: ${reason}: (.*)$`).exec(String(message)) ?? [];
    expect(statement).toMatch(schema === 'tools' ? /^GRANT / : /^CREATE SCHEMA /);
    if (schema === 'tools') return;
    await database.query(statement!);
    const service = await startAs(schema);
    expect(await textsOf(service)).toEqual([]);
    await service.stop();
  });
});
