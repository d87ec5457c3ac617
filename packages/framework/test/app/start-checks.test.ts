import {
  Body,
  Controller,
  Get,
  Injectable,
  Module,
  ParseArrayPipe,
  Post,
  Query,
} from '@nestjs/common';
import type { Provider, Type } from '@nestjs/common';
import { Exclude } from 'class-transformer';
import { IsString } from 'class-validator';
import { Column, Entity, PrimaryColumn, PrimaryGeneratedColumn } from 'typeorm';
import { expect, it } from 'vitest';
import { createDetachedApp } from '../../src/app/detached-app.js';
import {
  ApiResource,
  DtoArrayPipe,
  DtoOf,
  FrameworkModule,
  GeneratedIdRepository,
  INT64_COLUMN,
  Int64Field,
  contains,
  isAtLeast,
  isEqual,
  isNull,
  ListParameters,
  NoParametersDto,
  Public,
  RequireScope,
  ResourceModule,
  ResourceRepository,
  ServiceException,
  Sortable,
  StartupError,
  TextField,
} from '../../src/index.js';
import { appOf, migrationOf } from '../support/running-service.js';
import { start } from '../support/start.js';
import { createTestDatabase } from '../support/test-database.js';
import { ENHANCERS } from '../support/enhancers.js';
import { IDENTITY } from '../support/identity.js';
import { TOOL_ERRORS, Tool, ToolDto } from '../support/tool.js';

/* Mistakes that the start, the migration commands and the documents find without a database. */

class NoteDto {
  @IsString()
  readonly text!: string;
}

class UncheckedDto {
  readonly text!: string;
}

interface Note {
  readonly text: string;
}

@Controller('notes')
class RightController {
  @Post('one')
  @RequireScope('notes:write')
  one(@Body() _note: NoteDto, @Query() _query: NoParametersDto): void {}

  @Post('several')
  @RequireScope('notes:write')
  several(@Body(new DtoArrayPipe(NoteDto)) _notes: NoteDto[]): void {}

  @Get()
  @Public()
  find(@Query('text') _text: string): void {}
}

@ApiResource({
  one: 'a note',
  plural: 'long notes',
  dto: ToolDto,
  errors: { noSuch: TOOL_ERRORS.noSuchTool },
  examples: { create: {} },
})
@Controller('notes')
class WrongController {
  @Post('part')
  @RequireScope('notes:write')
  part(@Body('text') _text: string): void {}

  @Post('interface')
  @RequireScope('notes:write')
  untyped(@Body() _note: Note): void {}

  @Post('record')
  @RequireScope('notes:write')
  record(@Body() _note: Record<string, string>): void {}

  @Post('unchecked')
  @RequireScope('notes:write')
  unchecked(@Body() _note: UncheckedDto): void {}

  @Post('array')
  @RequireScope('notes:write')
  array(@Body() _notes: NoteDto[]): void {}

  @Post('items')
  @RequireScope('notes:write')
  items(@Body(ParseArrayPipe) _notes: NoteDto[]): void {}

  @Post('twice')
  @RequireScope('notes:write')
  twice(@Body() _one: NoteDto, @Body() _other: NoteDto): void {}

  @Get('query')
  @RequireScope('notes:read')
  query(@Query() _query: Note): void {}

  @Get('both')
  @Public()
  @RequireScope('notes:read')
  both(): void {}
}

@Entity('shelves')
class Shelf {
  @PrimaryColumn(INT64_COLUMN)
  @Int64Field({ description: 'The id.', example: 1 })
  readonly id!: bigint;

  @Column('bigint')
  @Int64Field({ description: 'Read as text.' })
  readonly large!: bigint;

  @Sortable()
  @Column('numeric')
  @TextField({ description: 'As long as it likes.' })
  readonly price!: string;

  @Column('text', { name: 'price' })
  @TextField({ description: 'Stored in the place of another.' })
  readonly label!: string;

  @Column('json', { name: 'rs__place', nullable: true })
  @TextField({ description: 'With a name of statements.' })
  readonly place!: string | null;
}

@Entity('boxes')
class Box {
  @PrimaryColumn(INT64_COLUMN)
  @Int64Field({ description: 'The id.', example: 1 })
  readonly id!: bigint;

  @Column('bigint')
  @Int64Field({ description: 'Read as text.' })
  readonly large!: bigint;

  @Column('bigint')
  @Exclude()
  readonly owner!: bigint;

  @Column('bigint')
  @Exclude()
  readonly ownText!: string;

  @Sortable()
  @Column('numeric')
  @TextField({ description: 'As long as it likes.' })
  readonly price!: string;

  @Column('text', { nullable: true })
  @TextField({ description: 'Optional in the table only.' })
  readonly label!: string | null;
}

class ShelfDto extends DtoOf(Shelf) {}

class BoxDto extends DtoOf(Box) {
  @IsString()
  readonly colour!: string;
}

@Entity('tools')
class SameTool {
  @PrimaryColumn(INT64_COLUMN)
  readonly id!: bigint;
}

const notFound = () => new ServiceException(TOOL_ERRORS.noSuchTool);
const idTaken = () => new ServiceException(TOOL_ERRORS.idTaken);

class ListToolsDto extends ListParameters {
  readonly name?: string;
  readonly tag?: string;
  readonly title?: string;
  readonly from?: string;
  readonly isNamed?: boolean;
}

@Injectable()
class ToolsRepository extends ResourceRepository<Tool, ListToolsDto>(Tool, {
  name: 'tools',
  dto: ToolDto,
  filters: {
    name: isEqual('"name"'),
    tag: isEqual('typo'),
    title: contains('title'),
    from: isAtLeast('name'),
    isNamed: isNull('name'),
  },
  search: { index: 'tools_title_search_idx', property: 'title' },
  notFound,
  idTaken,
}) {}

@Injectable()
class ShelvesRepository extends ResourceRepository<Shelf, ListParameters>(Shelf, {
  name: 'shelves',
  dto: ShelfDto,
  filters: {},
  notFound,
  idTaken,
}) {}

@Injectable()
class BoxesRepository extends ResourceRepository<Box, ListParameters>(Box, {
  name: 'boxes',
  dto: BoxDto,
  filters: {},
  notFound,
  idTaken,
}) {}

interface Parts {
  readonly controllers?: Type[];
  readonly entities?: Type[];
  readonly providers?: Provider[];
  readonly enhancers?: Provider[];
}

async function mistakesOf({
  controllers = [],
  entities = [],
  providers = [],
  enhancers = ENHANCERS,
}: Parts) {
  @Module({
    imports: [ResourceModule.forFeature(entities, { migrations: [] })],
    controllers,
    providers,
  })
  class PartModule {}
  @Module({ imports: [FrameworkModule.forRoot(IDENTITY), PartModule], providers: enhancers })
  class AppModule {}
  try {
    await (await createDetachedApp(AppModule)).close();
    return [];
  } catch (error) {
    if (!(error instanceof StartupError)) throw error;
    return error.message.split('\n');
  }
}

const WHOLE_BODY =
  'must declare its whole body as one parameter, and the type as a class with constraints, imported as a value';
const ARRAY = 'has an array as its body, which needs @Body(new DtoArrayPipe(…))';

const OF_ROUTES = [
  'WrongController.both is @Public(), so it cannot have @RequireScope(): it looks at no token',
  'WrongController has the plural "long notes" in @ApiResource(), so its path must contain long-notes',
  `WrongController.part ${WHOLE_BODY}`,
  `WrongController.untyped ${WHOLE_BODY}`,
  `WrongController.record ${WHOLE_BODY}`,
  `WrongController.unchecked ${WHOLE_BODY}`,
  `WrongController.array ${ARRAY}`,
  `WrongController.items ${ARRAY}`,
  'WrongController.twice has several parameters with @Body(): only one can read it',
  'WrongController.query must declare its whole query as one parameter, and the type as a class with constraints, imported as a value',
];

const OF_ENTITIES = [
  'SameTool: Tool has the table tools, too',
  'Tool: the filter tag needs a column typo, which the entity does not have',
  'Tool: the filter title needs a property title, which the entity does not have',
  'Tool.name has the type text, whose values are not compared: it cannot have the filter from',
  'Tool.name always has a value: it cannot have the filter isNamed',
  'Tool: the search needs a text title, which the entity does not have',
  'Shelf.label: price has the column price, too',
  'Shelf.place: no column can have a name with rs__: statements have such names',
  'Shelf.place: it cannot have the type json: use jsonb',
  'ShelfDto.place must be optional if and only if its column is nullable',
  'Shelf.large: a column of type bigint needs the options INT64_COLUMN, as in @Column(INT64_COLUMN)',
  'Shelf.price: lists cannot be sorted by the type numeric without a precision',
  'BoxDto.colour has no column in Box',
  'BoxDto.label must be optional if and only if its column is nullable',
  'Box.large: a column of type bigint needs the options INT64_COLUMN, as in @Column(INT64_COLUMN)',
  'Box.owner: a column of type bigint needs the options INT64_COLUMN, as in @Column(INT64_COLUMN)',
  'Box.price: lists cannot be sorted by the type numeric without a precision',
];

const ENTITIES = {
  entities: [Tool, SameTool, Shelf, Box],
  providers: [ToolsRepository, ShelvesRepository, BoxesRepository],
};

it('routes that work have no mistakes', async () => {
  expect(await mistakesOf({ controllers: [RightController] })).toEqual([]);
});

it('routes that cannot work are named, each by class and method', async () => {
  expect(await mistakesOf({ controllers: [RightController, WrongController] })).toEqual(OF_ROUTES);
});

it('entities that cannot work are named, each by class and property', async () => {
  expect(await mistakesOf(ENTITIES)).toEqual(OF_ENTITIES);
});

it('repositories of one name are named', async () => {
  @Entity('crates')
  class Crate {
    @PrimaryGeneratedColumn('identity', INT64_COLUMN)
    @Int64Field({ description: 'The id.', example: 1 })
    readonly id!: bigint;
  }
  class CrateDto extends DtoOf(Crate) {}
  const ofTools = { name: 'tools', dto: ToolDto, filters: {}, notFound, idTaken };
  @Injectable()
  class FirstRepository extends ResourceRepository<Tool, ListParameters>(Tool, ofTools) {}
  @Injectable()
  class SecondRepository extends ResourceRepository<Tool, ListParameters>(Tool, ofTools) {}
  @Injectable()
  class CratesRepository extends GeneratedIdRepository<Crate, ListParameters>(Crate, {
    name: 'tools',
    dto: CrateDto,
    filters: {},
    notFound,
  }) {}
  const providers = [FirstRepository, SecondRepository, CratesRepository];
  expect(await mistakesOf({ entities: [Tool, Crate], providers })).toEqual([
    'Tool: another repository, of Tool, has the name "tools", too',
    'Crate: another repository, of Tool, has the name "tools", too',
  ]);
});

it('filters that are named like a parameter of lists are named', async () => {
  const filters = { limit: isEqual('name'), expand: isEqual('tag') };
  @Injectable()
  class ToolsWithLimits extends ResourceRepository<Tool, ListParameters>(Tool, {
    name: 'tools',
    dto: ToolDto,
    filters,
    notFound,
    idTaken,
  }) {}
  expect(await mistakesOf({ entities: [Tool], providers: [ToolsWithLimits] })).toEqual([
    'Tool: no filter can have the name limit, which is a parameter of lists',
    'Tool: no filter can have the name expand, which is a parameter of lists',
  ]);
});

it('all are found before a migration is applied', async () => {
  const database = await createTestDatabase();
  const app = appOf([Tool, Box], [migrationOf('CREATE TABLE tools (id bigint PRIMARY KEY)')], {
    providers: [ToolsRepository, BoxesRepository],
  });
  await expect(start(app, database)).rejects.toThrow(/a column typo.*\n(.*\n)*.*BoxDto.colour/);
  expect(
    await database.query(`SELECT relname FROM pg_class WHERE relname ~ 'tools|migrations'`),
  ).toEqual([]);
  await database.drop();
});

it('all are in one message', async () => {
  const [, ...enhancers] = ENHANCERS;
  expect(await mistakesOf({ ...ENTITIES, controllers: [WrongController], enhancers })).toEqual([
    'AppModule lacks { provide: APP_GUARD, useClass: AuthGuard } in its providers',
    ...OF_ROUTES,
    ...OF_ENTITIES,
  ]);
});
