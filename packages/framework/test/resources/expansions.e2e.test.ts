import { Controller, Get, Headers, Injectable, Query } from '@nestjs/common';
import type { Type } from '@nestjs/common';
import { Column, DeleteDateColumn, Entity, PrimaryColumn, PrimaryGeneratedColumn } from 'typeorm';
import { Exclude } from 'class-transformer';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import {
  ApiResource,
  DtoOf,
  ExportOf,
  GeneratedIdRepository,
  INT64_COLUMN,
  Int64Field,
  isEqual,
  LinesFile,
  ListOf,
  NoOtherParameters,
  related,
  RequestSignal,
  RequireScope,
  ResourceRepository,
  ServiceException,
  Sortable,
  TextField,
  UUID_COLUMN,
  UuidField,
} from '../../src/index.js';
import type { Actor, Expansions, Filled, Page } from '../../src/index.js';
import { Statements } from '../../src/database/statements.js';
import { errorsOf } from '../support/errors.js';
import { appOf, migrationOf, runningService } from '../support/running-service.js';
import { start } from '../support/start.js';
import { createTestDatabase } from '../support/test-database.js';

/* Copies of books. Copies have the id of a book, which need not exist, and of a reader. */

const ERRORS = errorsOf({
  notFound: { number: 40488, message: 'there is none', remedy: 'Check the id' },
  idTaken: { number: 40988, message: 'the id is taken', remedy: 'Choose another id' },
});
const notFound = () => new ServiceException(ERRORS.notFound);

@Entity('books')
class Book {
  @PrimaryColumn(INT64_COLUMN)
  @Int64Field({ description: 'Its number.' })
  readonly id!: bigint;

  @Column('text')
  @TextField({ description: 'What it is called.' })
  readonly title!: string;

  @Column('text', { nullable: true })
  @TextField({ description: 'Whose it is.', isOptional: true })
  readonly owner!: string | null;

  @Exclude()
  @DeleteDateColumn({ type: 'timestamptz', name: 'removed_at' })
  readonly removedAt!: Date | null;
}
class BookDto extends DtoOf(Book) {}

@Injectable()
class BooksRepository extends ResourceRepository(Book, {
  name: 'books',
  dto: BookDto,
  filters: {},
  notFound,
  idTaken: () => new ServiceException(ERRORS.idTaken),
  visible: ({ id }) => (id === 'librarian' ? 'all' : { owner: id }),
}) {}

@Entity('readers')
class Reader {
  @PrimaryColumn(UUID_COLUMN)
  @UuidField({ description: 'Who it is.' })
  readonly id!: Filled<string>;

  @Column('text')
  @TextField({ description: 'The name.' })
  readonly name!: string;
}
class ReaderDto extends DtoOf(Reader) {}

@Injectable()
class ReadersRepository extends GeneratedIdRepository(Reader, {
  name: 'readers',
  dto: ReaderDto,
  filters: {},
  notFound,
}) {}

@Entity('copies')
class Copy {
  @PrimaryGeneratedColumn('identity', INT64_COLUMN)
  @Int64Field({ description: 'Its number.' })
  readonly id!: Filled<bigint>;

  @Sortable()
  @Column('text')
  @TextField({ description: 'Where it is.' })
  readonly place!: string;

  @Column({ ...INT64_COLUMN, name: 'book_id', nullable: true })
  @Int64Field({ description: 'Of which book.', isOptional: true })
  readonly bookId!: bigint | null;

  @Column('uuid', { name: 'reader_id', nullable: true })
  @UuidField({ description: 'Who has it.', isOptional: true })
  readonly readerId!: string | null;
}
const FILTERS = { place: isEqual('place') };
const EXPANSIONS = {
  book: related('bookId', () => BookDto, 'books:read'),
  reader: related('readerId', () => ReaderDto, 'readers:read', 'readers:meet'),
};
class CopyDto extends DtoOf(Copy) {}
@NoOtherParameters()
class ListCopiesDto extends ListOf(Copy, FILTERS, EXPANSIONS) {}
@NoOtherParameters()
class ExportCopiesDto extends ExportOf(ListCopiesDto) {}

const copiesRepository = (expansions?: Expansions<Copy>, dto: Type<CopyDto> = CopyDto) =>
  GeneratedIdRepository<Copy, ListCopiesDto>(Copy, {
    name: 'copies',
    dto,
    filters: FILTERS,
    notFound,
    ...(expansions && { expansions }),
  });

@Injectable()
class CopiesRepository extends copiesRepository(EXPANSIONS) {}

const actorOf = (id: string | undefined, scopes: string | undefined): { actor?: Actor } => {
  if (id === undefined) return {};
  const principal = {
    kind: 'lab',
    id,
    scopes: scopes ? new Set(scopes.split(' ')) : 'all',
  } as const;
  return { actor: { principal, requestId: 'test' } };
};

@ApiResource({
  one: 'a copy',
  plural: 'copies',
  dto: CopyDto,
  errors: { noSuch: ERRORS.notFound },
  examples: { create: { one: { summary: 'A copy', value: { id: 1, place: 'A' } } } },
})
@Controller('copies')
class CopiesController {
  constructor(private readonly copies: CopiesRepository) {}

  @Get()
  @RequireScope('copies:read')
  list(
    @Query() query: ListCopiesDto,
    @Headers('x-user') user: string,
    @Headers('x-scopes') scopes: string,
  ): Promise<Page<ListCopiesDto>> {
    return this.copies.list(query, actorOf(user, scopes));
  }

  @Get('export')
  @RequireScope('copies:read')
  export(@Query() query: ExportCopiesDto, @RequestSignal() signal: AbortSignal) {
    return new LinesFile(this.copies.export(query, signal));
  }
}

const TABLES = migrationOf(
  'CREATE TABLE books (id bigint PRIMARY KEY, title text NOT NULL, owner text, removed_at timestamptz)',
  'CREATE TABLE readers (id uuid PRIMARY KEY DEFAULT uuid_v7(), name text NOT NULL)',
  `CREATE TABLE copies (id bigint GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY, place text NOT NULL,
    book_id bigint, reader_id uuid)`,
  'CREATE INDEX ON copies (left(place, 100) COLLATE "C", id)',
  'CREATE INDEX ON copies (place, id)',
);
const ENTITIES = [Book, Reader, Copy];

const AppModule = appOf(ENTITIES, [TABLES], {
  controllers: [CopiesController],
  providers: [BooksRepository, ReadersRepository, CopiesRepository],
});

const ADA = '01920000-0000-7000-8000-000000000001';

describe('related rows in lists', () => {
  const service = runningService(AppModule);

  beforeEach(async () => {
    await service.database.query('TRUNCATE books, readers, copies RESTART IDENTITY');
    await service.database.query(`INSERT INTO readers VALUES ('${ADA}', 'Ada')`);
    await service.database.query(`INSERT INTO books VALUES (1, 'Ulysses', 'bob', NULL),
      (9007199254740993, 'Emma', NULL, NULL), (3, 'Lost', 'bob', now())`);
    await service.database
      .query(`INSERT INTO copies (place, book_id, reader_id) VALUES ('A', 1, NULL),
      ('B', NULL, '${ADA}'), ('B', 9007199254740993, '${ADA}'), ('A', 3, NULL), ('C', 4, NULL)`);
  });

  const list = async (query: string, user = 'librarian', scopes = '') => {
    const headers = { 'x-user': user, 'x-scopes': scopes };
    return service.send('GET', `/copies?${query}`, undefined, headers);
  };
  const ulysses = '"book":{"id":1,"title":"Ulysses","owner":"bob"}';

  it('are absent unless they are wanted', async () => {
    const { text } = await list('limit=1');
    expect(text).toBe('[{"id":1,"place":"A","bookId":1}]');
  });

  it('are what a look-up returns, unless the item has none, or it is removed', async () => {
    const { text } = await list('expand=book,reader');
    const ada = `"reader":{"id":"${ADA}","name":"Ada"}`;
    expect(text).toBe(
      `[${[
        `{"id":1,"place":"A","bookId":1,${ulysses}}`,
        `{"id":2,"place":"B","readerId":"${ADA}",${ada}}`,
        `{"id":3,"place":"B","bookId":9007199254740993,"readerId":"${ADA}","book":{"id":9007199254740993,"title":"Emma"},${ada}}`,
        '{"id":4,"place":"A","bookId":3}',
        '{"id":5,"place":"C","bookId":4}',
      ].join()}]`,
    );
    expect((await list('expand=book&expand=reader&expand=book')).text).toBe(text);
  });

  it('are only those that the client sees', async () => {
    const items = JSON.parse((await list('expand=book', 'bob')).text) as {
      book?: { id: number };
    }[];
    expect(items.map(({ book }) => book?.id)).toEqual([
      1,
      undefined,
      undefined,
      undefined,
      undefined,
    ]);
  });

  it.each([
    ['book', 'copies:read readers:read', 'books:read'],
    ['reader', 'books:read', 'readers:read or readers:meet'],
    ['book,reader', 'books:read', 'readers:read or readers:meet'],
  ])('%s needs another scope than %s', async (expand, scopes, needed) => {
    const { status, text, headers } = await list(`expand=${expand}`, 'librarian', scopes);
    expect(status).toBe(403);
    expect(JSON.parse(text)).toMatchObject({
      error: 40300,
      message: `the operation needs the scope ${needed}`,
    });
    expect(headers.get('www-authenticate')).toContain('insufficient_scope');
  });

  it('need one of the scopes that are declared', async () => {
    const { status } = await list('expand=book,reader', 'librarian', 'books:read readers:meet');
    expect(status).toBe(200);
  });

  it.each(['x', 'book,x', '', 'bookId', 'constructor'])('%j is none of them', async (expand) => {
    const { status, text } = await list(`expand=${expand}`);
    expect(status).toBe(400);
    const message = 'expand must be book, reader, or several of them, separated by commas';
    expect(JSON.parse(text)).toMatchObject({ error: 40004, message });
  });

  it('need an actor, and are in no export', async () => {
    expect((await service.send('GET', '/copies?expand=book')).status).toBe(500);
    const { status } = await service.send('GET', '/copies/export?expand=book');
    expect(status).toBe(400);
  });

  it('are read by one statement for each name, if there are any', async () => {
    const rows = vi.spyOn(Statements.prototype, 'rows');
    const statementsOf = async (query: string) => {
      rows.mockClear();
      await list(query);
      return rows.mock.calls.length;
    };
    expect(await statementsOf('limit=5')).toBe(1);
    expect(await statementsOf('limit=5&expand=book')).toBe(2);
    expect(await statementsOf('limit=5&expand=book,reader')).toBe(3);
    expect(await statementsOf('place=C&expand=reader')).toBe(1);
    rows.mockRestore();
  });

  it('are on the next page, too, beside filters and an order', async () => {
    const { text, headers } = await list('limit=1&sort=-place&place=A&expand=book&count=true');
    expect(text).toContain('"id":4');
    const [, path] = /<([^>]*)>/.exec(headers.get('link')!)!;
    expect(path).toContain('expand=book');
    const next = await service.send('GET', path!, undefined, { 'x-user': 'librarian' });
    expect(next.text).toBe(`[{"id":1,"place":"A","bookId":1,${ulysses}}]`);
    expect(headers.get('x-total-count')).toBe('2');
  });

  const walk = async (query: string) => {
    const pages: { id: number; book: { title: string } }[][] = [];
    let path: string | undefined = `/copies?${query}`;
    while (path !== undefined) {
      const { text, headers, status } = await service.send('GET', path, undefined, {
        'x-user': 'librarian',
      });
      expect(status).toBe(200);
      expect(text.length).toBeLessThan(6_000_000);
      pages.push(JSON.parse(text) as (typeof pages)[number]);
      [, path] = /<([^>]*)>/.exec(headers.get('link') ?? '') ?? [];
    }
    return pages;
  };

  it.each([
    // Seven books in the opposite order of the copies that need them.
    [
      'different',
      'SELECT n, repeat(chr(96 + n), 1000000) FROM generate_series(1, 7) AS n',
      '8 - n',
    ],
    ['equal', "SELECT 7, repeat('a', 1000000)", '7'],
    [
      'longer than a page',
      'SELECT n, repeat(chr(96 + n), 5000000) FROM generate_series(1, 7) AS n',
      'n',
    ],
  ])(
    '%s long rows make pages shorter, and each item is there once',
    async (kind, books, bookId) => {
      await service.database.query('TRUNCATE books, copies RESTART IDENTITY');
      await service.database.query(`INSERT INTO books (id, title) ${books}`);
      await service.database.query(
        `INSERT INTO copies (place, book_id) SELECT 'A', ${bookId} FROM generate_series(1, 7) AS n`,
      );
      const pages = await walk('limit=7&expand=book');
      expect(pages.length).toBe(kind === 'longer than a page' ? 7 : 2);
      expect(pages.flat().map(({ id }) => id)).toEqual([1, 2, 3, 4, 5, 6, 7]);
      for (const { book } of pages.flat())
        expect(book.title.length).toBeGreaterThanOrEqual(1_000_000);
      const counted = await list('limit=7&expand=book&count=true');
      expect(counted.headers.get('x-total-count')).toBe('7');
    },
  );

  it('are documented', async () => {
    const { text } = await service.send('GET', '/openapi.json');
    const { paths, components } = JSON.parse(text) as {
      paths: { '/copies': { get: { parameters: { name: string }[]; responses: { 200: object } } } };
      components: { schemas: Record<string, { properties: object; required: string[] }> };
    };
    const { parameters, responses } = paths['/copies'].get;
    expect(parameters.find(({ name }) => name === 'expand')).toMatchObject({
      explode: false,
      required: false,
      schema: { type: 'array', items: { type: 'string', enum: ['book', 'reader'] } },
      description: expect.stringContaining(
        '`book` (scope `books:read`), `reader` (scope `readers:read` or `readers:meet`)',
      ),
    });
    expect(JSON.stringify(responses[200])).toContain('#/components/schemas/ListedCopy"');
    const { properties, required } = components.schemas['ListedCopy']!;
    expect(Object.keys(properties)).toEqual([
      'id',
      'place',
      'bookId',
      'readerId',
      'book',
      'reader',
    ]);
    expect(JSON.stringify(properties)).toContain('#/components/schemas/BookDto');
    expect(required).toEqual(['id', 'place']);
  });
});

it('mistakes in their declaration stop the start, all at once', async () => {
  class OtherDto extends DtoOf(Book) {}
  class WithoutBookDto extends DtoOf(Copy, ['id', 'place', 'readerId']) {}
  const expansions = {
    place: related('bookId', () => BookDto, 'books:read'),
    reader: related('bookId', () => ReaderDto, 'readers:read'),
    other: related('readerId', () => OtherDto, 'books:read'),
  };
  @Injectable()
  class WrongRepository extends copiesRepository(expansions, WithoutBookDto) {}
  const app = appOf(ENTITIES, [TABLES], {
    providers: [BooksRepository, ReadersRepository, WrongRepository],
  });
  const database = await createTestDatabase();
  const error: unknown = await start(app, database).catch((reason: unknown) => reason);
  const { message } = error as Error;
  for (const mistake of [
    'the expansion place has the name of a property',
    'the expansion place needs the property bookId',
    'the expansion reader needs ids in bookId, which has the type bigint',
    'the expansion other needs one repository with the dto OtherDto, not 0',
  ]) {
    expect(message).toContain(`WithoutBookDto: ${mistake}`);
  }
  await database.drop();
});

it('a name that the repository does not declare is an error of the service', async () => {
  @Injectable()
  class PlainRepository extends copiesRepository() {}
  const app = appOf(ENTITIES, [TABLES], { providers: [PlainRepository] });
  const database = await createTestDatabase();
  const service = await start(app, database);
  const copies = service.get(PlainRepository);
  const listed = copies.list({ limit: 1, expand: ['book'] }, actorOf('librarian', undefined));
  await expect(listed).rejects.toThrow('the repository has no expansion book');
  await service.stop();
  await database.drop();
});
