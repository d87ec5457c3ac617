import { randomBytes } from 'node:crypto';
import { Body, Controller, HttpCode, Injectable, Param, Patch, Post } from '@nestjs/common';
import { Column, Entity, PrimaryColumn } from 'typeorm';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { RequestSignal } from '../../src/http/responses/request-signal.js';
import type { BodyLine } from '../../src/http/body/body-lines.js';
import { LinesFile, NdjsonLines } from '../../src/http/body/ndjson.js';
import {
  DtoOf,
  INT64_COLUMN,
  Int64Field,
  Int64Pipe,
  ListParameters,
  PatchOf,
  RequireScope,
  ResourceRepository,
  ServiceException,
  TextField,
  Transactions,
} from '../../src/index.js';
import { createLogger } from '../../src/observability/logger.js';
import { unknownConstraints } from '../../src/resources/properties/constraints.js';
import { errorsOf } from '../support/errors.js';
import { PATIENT } from '../support/patience.js';
import { start } from '../support/start.js';
import { given } from '../support/test-database.js';
import { appOf, migrationOf, runningService, senderTo } from '../support/running-service.js';

const ERRORS = errorsOf({
  codeTaken: { number: 40980, message: 'the code is taken', remedy: 'Choose another one' },
  badMood: { number: 40981, message: 'the mood is bad', remedy: 'Choose another one' },
  idTaken: { number: 40982, message: 'the id is taken', remedy: 'Choose another one' },
  notFound: { number: 40480, message: 'there is no such pet', remedy: 'Check the id' },
});

@Entity('pets')
class Pet {
  @PrimaryColumn(INT64_COLUMN)
  @Int64Field({ description: 'Its id.' })
  readonly id!: bigint;

  /** Unique. */
  @Column('text', { nullable: true })
  @TextField({ description: 'Its code.', isOptional: true })
  readonly code!: string | null;

  /** Decides what a trigger does. */
  @Column('text', { nullable: true })
  @TextField({ description: 'Its mood.', isOptional: true })
  readonly mood!: string | null;

  /** In an index with an expression. */
  @Column('text', { name: 'the note', nullable: true })
  @TextField({ description: 'A note.', isOptional: true })
  readonly note!: string | null;
}

class PetDto extends DtoOf(Pet) {}
class PetPatchDto extends PatchOf(Pet) {}

const CREATE_PETS = migrationOf(
  `CREATE TABLE pets (id bigint PRIMARY KEY,
      code text CONSTRAINT pets_code_key UNIQUE, mood text, "the note" text)`,
  'CREATE INDEX pets_note_idx ON pets (upper("the note"))',
  `CREATE FUNCTION check_mood() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        IF NEW.mood LIKE '_____' THEN
          RAISE EXCEPTION USING ERRCODE = NEW.mood, CONSTRAINT = 'no_code_of_ours', MESSAGE = 'the secret text of a trigger';
        ELSIF NEW.mood = 'declared' THEN
          RAISE EXCEPTION USING CONSTRAINT = 'pets_mood';
        ELSIF NEW.mood = 'broken trigger' THEN
          PERFORM missing_function();
        ELSIF NEW.mood = 'divided' THEN
          PERFORM 1 / 0;
        END IF;
        RETURN NEW;
      END $$`,
  'CREATE TRIGGER check_mood BEFORE INSERT OR UPDATE ON pets FOR EACH ROW EXECUTE FUNCTION check_mood()',
);

const OPTIONS = {
  name: 'pets',
  dto: PetDto,
  filters: {},
  idTaken: () => new ServiceException(ERRORS.idTaken),
  notFound: () => new ServiceException(ERRORS.notFound),
};

@Injectable()
class PetsRepository extends ResourceRepository<Pet, ListParameters>(Pet, {
  ...OPTIONS,
  constraints: { pets_code_key: ERRORS.codeTaken, pets_mood: ERRORS.badMood },
}) {}

@Controller('pets')
class PetsController {
  constructor(
    private readonly pets: PetsRepository,
    private readonly transactions: Transactions,
  ) {}

  @Post()
  @RequireScope('pets:write')
  create(@Body() pet: PetDto): Promise<PetDto> {
    return this.pets.create(pet);
  }

  @Post('in-transaction')
  @RequireScope('pets:write')
  createInTransaction(@Body() pet: PetDto): Promise<PetDto> {
    return this.transactions.run((manager) => this.pets.create(pet, { manager }));
  }

  @Post('import')
  @HttpCode(200)
  @RequireScope('pets:write')
  import(
    @NdjsonLines() lines: AsyncIterable<readonly BodyLine[]>,
    @RequestSignal() signal: AbortSignal,
  ): LinesFile {
    return new LinesFile(this.pets.import(lines, signal), { endsInError: true });
  }

  @Patch(':id')
  @RequireScope('pets:write')
  patch(@Param('id', Int64Pipe) id: bigint, @Body() pet: PetPatchDto): Promise<PetDto> {
    return this.pets.patch(id, pet);
  }
}

const AppModule = appOf([Pet], [CREATE_PETS], {
  controllers: [PetsController],
  providers: [PetsRepository],
});
const service = runningService(AppModule, {}, PATIENT);
const { send } = service;

beforeEach(() => service.database.empty());

/** Incompressible: PostgreSQL compresses values before it measures them. */
const long = (characters: number) =>
  randomBytes(characters).toString('base64url').slice(0, characters);

const LONG_CODE = {
  error: 40003,
  message: 'code is too long for an index of the database',
};
const BUG = { error: 50000, message: 'the service failed to handle the request' };

/** A row that PostgreSQL refuses, and the answer. */
const REFUSED: readonly (readonly [string, object, object])[] = [
  [
    'a text that is too long for an index, of which the error has the name',
    { code: long(6_000) },
    LONG_CODE,
  ],
  ['a text that is too long for any index', { code: long(20_000) }, LONG_CODE],
  [
    'a text that is too long for an index with an expression',
    { note: long(9_000), mood: long(9_000) },
    { error: 40003, message: 'note is too long for an index of the database' },
  ],
  [
    'a constraint that a trigger names',
    { mood: 'declared' },
    { error: 40981, message: 'the mood is bad' },
  ],
  ['a trigger that is broken', { mood: 'broken trigger' }, BUG],
  ['a trigger that divides by zero', { mood: 'divided' }, BUG],
  // RAISE without a code, of a custom class, of PL/pgSQL, and codes that PostgreSQL itself has for other failures.
  ...['P0001', 'AB123', 'P0002', 'P0004', '44000', '0A000', '21000', '42703'].map(
    (code) => [`a trigger with the code ${code}`, { mood: code }, BUG] as const,
  ),
  [
    'a trigger with the code 54000',
    { mood: '54000' },
    { error: 40003, message: 'a member is too large for the database' },
  ],
  // Codes of a database that cannot serve.
  ...['42501', '28000', '08006', 'XX000', '58030', '53400', '55000', '57014'].map(
    (code) => [`a trigger with the code ${code}`, { mood: code }, BUG] as const,
  ),
];

describe('a row that PostgreSQL refuses', () => {
  it.each(REFUSED)('because of %s fails alone, in a group of creates', async (_, row, answer) => {
    const rows = Array.from({ length: 32 }, (__, id) => ({ id, ...(id === 21 && row) }));
    const answers = await Promise.all(rows.map((one) => send('POST', '/pets', one)));
    const failed = answers.filter(({ status }) => status !== 201);
    expect(failed.map(({ text }) => JSON.parse(text) as unknown)).toEqual([answer]);
    expect(await service.database.query('SELECT count(*)::int FROM pets')).toEqual([{ count: 31 }]);
  });

  it.each(REFUSED)('because of %s is told when it is changed', async (_, row, answer) => {
    await send('POST', '/pets', { id: 1 });
    const { text } = await send('PATCH', '/pets/1', row);
    expect(JSON.parse(text)).toEqual(answer);
  });

  it('is a line of the answer to an import, which goes on', async () => {
    const rows = Array.from({ length: 10 * REFUSED.length }, (_, id) => ({
      id,
      ...(id % 10 === 7 && REFUSED[(id - 7) / 10]![1]),
    }));
    const { text } = await send(
      'POST',
      '/pets/import',
      rows.map((row) => JSON.stringify(row)).join('\n'),
    );
    const lines = text
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as unknown);
    expect(lines).toEqual([
      ...REFUSED.map(([, , answer], at) => ({ line: at * 10 + 8, ...answer })),
      { created: 9 * REFUSED.length, unchanged: 0, refused: REFUSED.length },
    ]);
  });

  it.each([
    ['column', 'ALTER TABLE pets RENAME code TO other', 'ALTER TABLE pets RENAME other TO code'],
    ['table', 'ALTER TABLE pets RENAME TO others', 'ALTER TABLE others RENAME TO pets'],
    [
      'unique key',
      'ALTER TABLE pets DROP CONSTRAINT pets_pkey',
      'ALTER TABLE pets ADD PRIMARY KEY (id)',
    ],
  ])('is no reason to go on without a %s', async (_, remove, restore) => {
    const rows = Array.from({ length: 2_000 }, (__, id) => ({ id }));
    await service.database.query(remove);
    try {
      const lines = rows.map((row) => JSON.stringify(row)).join('\n');
      const { text } = await send('POST', '/pets/import', lines);
      expect(text.trim()).toBe(JSON.stringify(BUG));
      const answers = await Promise.all(rows.slice(0, 32).map((row) => send('POST', '/pets', row)));
      for (const answer of answers)
        expect(answer).toMatchObject({ status: 500, text: text.trim() });
    } finally {
      await service.database.query(restore);
    }
  });

  it('in a transaction on the only connection is told at once', async () => {
    const one = await start(AppModule, service.database, { DATABASE_POOL_MAX: '1' });
    try {
      const pet = { id: 1, code: long(6_000) };
      const begin = performance.now();
      const { text } = await senderTo(() => one)('POST', '/pets/in-transaction', pet);
      expect(JSON.parse(text)).toEqual(LONG_CODE);
      // A wait for another connection takes 2 s.
      expect(performance.now() - begin).toBeLessThan(1_500);
    } finally {
      await one.stop();
    }
  });

  it.each([1, 20, 31])('because of row security fails alone: %i of 32', async (bad) => {
    const role = `pets_${randomBytes(8).toString('hex')}`;
    const url = new URL(service.database.url);
    [url.username, url.password] = [role, 'secret'];
    await service.database.query(`CREATE ROLE ${role} LOGIN PASSWORD 'secret'`);
    await service.database.query(`GRANT pg_read_all_data, pg_write_all_data TO ${role}`);
    await service.database.query('ALTER TABLE pets ENABLE ROW LEVEL SECURITY');
    await service.database.query(
      `CREATE POLICY good ON pets USING (mood IS DISTINCT FROM 'forbidden')`,
    );
    const limited = await start(AppModule, given(url.href), { DATABASE_MIGRATE_ON_START: 'false' });
    try {
      const rows = Array.from({ length: 32 }, (_, id) => ({
        id,
        ...(id < bad && { mood: 'forbidden' }),
      }));
      const sendTo = senderTo(() => limited);
      const answers = await Promise.all(rows.map((row) => sendTo('POST', '/pets', row)));
      expect(answers.map(({ status }) => status)).toEqual(
        rows.map(({ id }) => (id < bad ? 500 : 201)),
      );
    } finally {
      await limited.stop();
      await service.database.query(`DROP POLICY good ON pets`);
      await service.database.query('ALTER TABLE pets DISABLE ROW LEVEL SECURITY');
      await service.database.query(`DROP OWNED BY ${role}`);
      await service.database.query(`DROP ROLE ${role}`);
    }
  });
});

it('the log of the start names a declared constraint that nothing in the database has', async () => {
  @Injectable()
  class OtherRepository extends ResourceRepository<Pet, ListParameters>(Pet, {
    ...OPTIONS,
    constraints: {
      pets_code_key: ERRORS.codeTaken,
      pets_note_idx: ERRORS.codeTaken,
      pets_mood: ERRORS.badMood,
      pets_mood_check: ERRORS.badMood,
    },
  }) {}
  const lines: unknown[] = [];
  const logger = createLogger('warn', {
    write: (line: string) => void lines.push(JSON.parse(line) as unknown),
  });
  const app = appOf([Pet], [CREATE_PETS], { providers: [OtherRepository] });
  const other = await start(app, service.database, {}, PATIENT, logger);
  await other.stop();
  expect(lines).toContainEqual(
    expect.objectContaining({ resource: 'pets', unknown: ['pets_mood_check'] }),
  );
});

it('the start of a repository without declared constraints looks for none', async () => {
  const rows = vi.fn<() => Promise<[]>>();
  expect(await unknownConstraints({ rows } as never, {})).toEqual([]);
  expect(rows).not.toHaveBeenCalled();
});
