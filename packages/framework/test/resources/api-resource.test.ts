import {
  Body,
  Controller,
  Delete,
  Get,
  HttpCode,
  Param,
  Patch,
  Post,
  Put,
  Query,
} from '@nestjs/common';
import type { Type } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiProperty, OmitType, SwaggerModule } from '@nestjs/swagger';
import { Test } from '@nestjs/testing';
import { Exclude } from 'class-transformer';
import { DeleteDateColumn, Entity, PrimaryColumn } from 'typeorm';
import { expect, it } from 'vitest';
import { RequireScope } from '../../src/auth/scopes/require-scope.decorator.js';
import type { Precondition } from '../../src/http/responses/entity-tag.js';
import { RequestPrecondition } from '../../src/http/responses/entity-tag.js';
import { ERRORS } from '../../src/errors/common-errors.js';
import { NoOtherParameters, NoParametersDto } from '../../src/http/body/dto.pipe.js';
import { ApiErrors } from '../../src/http/errors/api-errors.js';
import { apiOperations } from '../../src/resources/documents/api-operations.js';
import { ApiResource } from '../../src/resources/documents/api-resource.js';
import { RequestIdempotencyKey } from '../../src/resources/idempotency/request-idempotency-key.decorator.js';
import { DtoOf } from '../../src/resources/properties/dto-of.js';
import { INT64_COLUMN, Int64Field } from '../../src/resources/properties/int64.js';
import { TIMESTAMP_COLUMN } from '../../src/resources/properties/timestamp.js';
import { ListOf } from '../../src/resources/reads/list-of.js';
import { TOOL_ERRORS, Tool, ToolDto, ToolPatchDto, ToolReplacementDto } from '../support/tool.js';

class ToolWithoutIdDto extends OmitType(ToolDto, ['id']) {}

/** A removal marks its rows. */
@Entity('marked')
class Marked {
  @PrimaryColumn(INT64_COLUMN)
  @Int64Field({ description: 'Identification number of the aisle.' })
  readonly id!: bigint;

  @DeleteDateColumn(TIMESTAMP_COLUMN)
  @Exclude()
  readonly removedAt!: Date | null;
}

const DOCS = {
  one: 'an aisle',
  plural: 'long aisles',
  errors: {
    idTaken: TOOL_ERRORS.idTaken,
    noSuch: TOOL_ERRORS.noSuchTool,
    others: [ERRORS.tooManyImports],
    removal: [ERRORS.tooManyLists],
  },
};
const EXAMPLES = { north: { summary: 'An aisle', value: { id: 1, name: 'North' } } };

@ApiResource({ ...DOCS, dto: ToolDto, examples: { create: EXAMPLES } })
@Controller('long-aisles')
class AislesController {
  @Post()
  @HttpCode(200)
  @ApiOkResponse({ type: ToolWithoutIdDto })
  create(@Body() aisle: ToolDto): ToolWithoutIdDto {
    return aisle;
  }

  @Get(':id/width')
  getWidth(@Param('id') id: string): string {
    return id;
  }

  @Put('/:id')
  replace(@Param('id') _id: string, @Body() aisle: ToolReplacementDto): ToolReplacementDto {
    return aisle;
  }

  @Patch(':id')
  @ApiOperation({ summary: 'Widen an aisle' })
  patch(
    @Param('id') _id: string,
    @Body() aisle: ToolPatchDto,
    @RequestPrecondition() _precondition: Precondition | undefined,
  ): ToolPatchDto {
    return aisle;
  }

  @RequireScope('aisles:write')
  @Delete(':id')
  @HttpCode(204)
  remove(@Param('id') id: string): string {
    return id;
  }
}

async function pathsOf(controller: Type) {
  const module = await Test.createTestingModule({ controllers: [controller] }).compile();
  return SwaggerModule.createDocument(module.createNestApplication(), {
    openapi: '3.1.0',
    info: { title: 'Aisles', version: '1' },
  }).paths;
}

const paths = await pathsOf(AislesController);
const create = paths['/long-aisles']?.post;
const stored = paths['/long-aisles/{id}'];

it('a removal has the failures that are declared for it, and not those of creates and changes', () => {
  const responses = JSON.stringify(stored?.delete?.responses);
  const numbers = Array.from(responses.matchAll(/"error":(\d+)/g), ([, number]) => Number(number));
  expect(numbers).toContain(ERRORS.tooManyLists.number);
  expect(numbers).not.toContain(ERRORS.tooManyImports.number);
});

it('a create is described in the words of its resource, whatever letter its name begins with', () => {
  expect(create).toMatchObject({
    operationId: 'createAisle',
    tags: ['long aisles'],
    summary: 'Create an aisle',
    description: expect.stringMatching(/^Creates a new aisle in the store\./),
  });
  const responses = JSON.stringify(create?.responses);
  expect(responses).toContain('{"error":40003,"message":"name is missing"}');
  expect(responses).toContain('id 1 belongs to an aisle with other content');
});

it('a body has the class of the parameter, and the response the class that its method names', () => {
  const schemas = [create, stored?.put, stored?.patch].map(
    (operation) => JSON.stringify(operation?.requestBody).match(/(?<=schemas\/)\w+/)?.[0],
  );
  expect(schemas).toEqual(['ToolDto', 'ToolReplacementDto', 'ToolPatchDto']);
  expect(create?.responses['200']).toMatchObject({
    content: {
      'application/json': {
        schema: { $ref: '#/components/schemas/ToolWithoutIdDto' },
        examples: { north: { value: { name: 'North' } } },
      },
    },
  });
});

it('what a method says itself has priority', () => {
  expect(stored?.patch).toMatchObject({ operationId: 'patchAisle', summary: 'Widen an aisle' });
});

it('the Link of a nested list has the path of its controller', async () => {
  @ApiResource({ ...DOCS, dto: ToolDto, examples: { create: EXAMPLES } })
  @Controller('/shops/:shopId/long-aisles')
  class ShopAislesController {
    @Get()
    @ApiOperation({ operationId: 'listShopAisles' })
    list(): void {}
  }
  const { '/shops/{shopId}/long-aisles': nested } = await pathsOf(ShopAislesController);
  expect(nested?.get?.operationId).toBe('listShopAisles');
  const responses = JSON.stringify(nested?.get?.responses);
  expect(responses).toContain('</shops/{shopId}/long-aisles?limit=50&after=1>');
});

it('only an operation that heeds If-Match promises it', () => {
  const ifMatch = expect.objectContaining({ name: 'If-Match' });
  expect(stored?.patch?.parameters).toContainEqual(ifMatch);
  expect(stored?.patch?.responses).toHaveProperty('412');
  expect(stored?.delete?.parameters).not.toContainEqual(ifMatch);
  expect(stored?.delete?.responses).not.toHaveProperty('412');
});

it('other routes are left alone', () => {
  expect(Object.keys(paths['/long-aisles/{id}/width']?.get?.responses ?? {})).toEqual(['200']);
});

const ApiAisles = ApiResource({ ...DOCS, dto: ToolDto, examples: { create: EXAMPLES } });

class InheritedController {
  @Get(':id')
  get(@Param('id') id: string): string {
    return id;
  }
}

class ListOfSeveralController {
  @Get(['', 'all'])
  list(): string {
    return '';
  }
}

class OtherParameterController {
  @Get(':aisleId')
  get(@Param('aisleId') id: string): string {
    return id;
  }
}

it.each([
  ['get is inherited', class extends InheritedController {}],
  ['list has several paths', ListOfSeveralController],
  ['get has another parameter than :id', OtherParameterController],
])('a usual route that it cannot document is rejected by name: %s', (mistake, controller) => {
  expect(() => ApiAisles(controller)).toThrow(`${controller.name}.${mistake}`);
});

it('a usual route with documentation of its own is left alone', async () => {
  @ApiAisles
  @Controller('long-aisles')
  class OwnController {
    @Get(':aisleId')
    @ApiOperation({ summary: 'Walk along an aisle' })
    get(@Param('aisleId') id: string): string {
      return id;
    }
  }
  const own = (await pathsOf(OwnController))['/long-aisles/{aisleId}'];
  expect(own?.get).toMatchObject({ summary: 'Walk along an aisle' });
  expect(Object.keys(own?.get?.responses ?? {})).toEqual(['200']);
});

it('only a create that takes an Idempotency-Key promises it', async () => {
  const { noSuch } = DOCS.errors;
  const ApiMade = ApiResource({
    ...DOCS,
    errors: { noSuch },
    dto: ToolDto,
    examples: { create: EXAMPLES },
  });
  @ApiMade
  @Controller('long-aisles')
  class KeyedController {
    @Post()
    create(@Body() aisle: ToolDto, @RequestIdempotencyKey() _key: string | undefined): ToolDto {
      return aisle;
    }
  }
  @ApiMade
  @Controller('long-aisles')
  class KeylessController {
    @Post()
    create(@Body() aisle: ToolDto): ToolDto {
      return aisle;
    }
  }
  const postOf = async (controller: Type) => (await pathsOf(controller))['/long-aisles']?.post;
  const keyless = await postOf(KeylessController);
  expect(keyless?.description).toMatch(
    /^Creates a new aisle, whose id the store makes\. Each request creates an aisle\./,
  );
  expect(JSON.stringify(keyless)).not.toContain('Idempotency-Key');
  for (const status of ['409', '422']) expect(keyless?.responses).not.toHaveProperty(status);
  const keyed = await postOf(KeyedController);
  expect(keyed?.description).toContain('Without one, each request creates an aisle.');
  expect(keyed?.parameters).toEqual([expect.objectContaining({ name: 'Idempotency-Key' })]);
  for (const status of ['409', '422']) expect(keyed?.responses).toHaveProperty(status);
});

it('a replacement names what it keeps', async () => {
  class NameDto extends OmitType(ToolDto, ['id', 'tag']) {}
  @ApiAisles
  @Controller('long-aisles')
  class KeepingController {
    @Put(':id')
    replace(@Param('id') _id: string, @Body() aisle: NameDto): NameDto {
      return aisle;
    }
  }
  const own = (await pathsOf(KeepingController))['/long-aisles/{id}'];
  expect(own?.put?.description).toBe(
    'Replaces all fields of a stored aisle, except its id and `tag`. Does not create an aisle.',
  );
  expect(stored?.put?.description).toContain('except its id. ');
});

it('only what rejects other parameters says so, and only what is imported can be', async () => {
  class LaxDto extends ListOf(Tool) {}
  @NoOtherParameters()
  class StrictDto extends ListOf(Tool) {}
  @ApiAisles
  @Controller('long-aisles')
  class LaxController {
    @Get()
    list(@Query() _query: LaxDto): void {}

    @Get('export')
    export(): void {}
  }
  @ApiAisles
  @Controller('long-aisles')
  class LaxImportController {
    @Post('import')
    import(): void {}
  }
  @ApiAisles
  @Controller('long-aisles')
  class StrictController {
    @Get()
    list(@Query() _query: StrictDto): void {}

    @Post('import')
    import(@Query() _query: NoParametersDto): void {}

    @Get('export')
    export(): void {}
  }
  const sentences = ['An unknown parameter is', 'There are no parameters', 'can be imported'];
  const saidOf = async (controller: Type) => {
    const own = Object.values(await pathsOf(controller));
    const text = own.map(({ get, post }) => `${get?.description} ${post?.description}`).join();
    return sentences.filter((sentence) => text.includes(sentence));
  };
  expect(await saidOf(LaxController)).toEqual([]);
  expect(await saidOf(LaxImportController)).toEqual([]);
  expect(await saidOf(StrictController)).toEqual(sentences);
});

it('a removed row stays, if a route restores it', async () => {
  @ApiAisles
  @Controller('long-aisles')
  class RestoringController {
    @Post()
    create(@Body() aisle: ToolDto): ToolDto {
      return aisle;
    }

    @Delete(':id')
    remove(@Param('id') id: string): string {
      return id;
    }

    @Post(':id/restore')
    @HttpCode(200)
    restore(
      @Param('id') id: string,
      @RequestPrecondition() _precondition: Precondition | undefined,
    ): string {
      return id;
    }
  }
  const own = await pathsOf(RestoringController);
  expect(create?.description).toContain('belongs to an aisle with other content, the request');
  expect(own['/long-aisles']?.post?.description).toContain(
    'belongs to an aisle with other content, or to a removed one, the request fails',
  );
  expect(stored?.delete?.description).toBe('Removes an aisle. Its id is free afterwards.');
  expect(own['/long-aisles/{id}']?.delete?.description).toBe(
    'Removes an aisle. It stays in the store, unseen: `POST /long-aisles/{id}/restore` brings it back.',
  );
  const restore = own['/long-aisles/{id}/restore']?.post;
  expect(restore).toMatchObject({ operationId: 'restoreAisle', tags: ['long aisles'] });
  expect(restore?.parameters?.map((each) => 'name' in each && each.name)).toEqual([
    'id',
    'If-Match',
  ]);
  expect(restore?.responses['200']).toMatchObject({
    content: { 'application/json': { schema: { $ref: '#/components/schemas/ToolDto' } } },
  });
  expect(Object.keys(restore?.responses ?? {})).toEqual(
    expect.arrayContaining(['404', '412', '503']),
  );
});

class KeptDto extends DtoOf(Marked) {}
class OwnDto extends OmitType(ToolDto, ['tag']) {}

it.each([
  ['stays taken if its entity keeps removed rows', KeptDto, ' Its id stays taken.'],
  ['is not promised to be free if its entity is not known', OwnDto, ''],
])('without a route that restores rows, the id of a removed row %s', async (_, dto, text) => {
  @ApiResource({ ...DOCS, dto, examples: { create: EXAMPLES } })
  @Controller('long-aisles')
  class KeepingController {
    @Post()
    create(@Body() aisle: ToolDto): ToolDto {
      return aisle;
    }

    @Delete(':id')
    remove(@Param('id') id: string): string {
      return id;
    }
  }
  const own = await pathsOf(KeepingController);
  expect(own['/long-aisles/{id}']?.delete?.description).toBe(`Removes an aisle.${text}`);
  const conflict = own['/long-aisles']?.post?.description;
  expect(conflict?.includes('or to a removed one')).toBe(dto === KeptDto);
});

it('the documented status is that of the route', async () => {
  @ApiAisles
  @Controller('long-aisles')
  class StatusController {
    @Post()
    create(@Body() aisle: ToolDto): ToolDto {
      return aisle;
    }

    @Delete(':id')
    @HttpCode(202)
    remove(@Param('id') id: string): string {
      return id;
    }
  }
  const own = await pathsOf(StatusController);
  const statusesOf = (operation?: { readonly responses: object }) =>
    Object.keys(operation?.responses ?? {}).filter((status) => status < '300');
  expect(statusesOf(own['/long-aisles']?.post)).toEqual(['201']);
  expect(statusesOf(own['/long-aisles/{id}']?.delete)).toEqual(['202']);
});

it('without PUT, the example of a patched row is the created one with the changes', async () => {
  const examples = {
    create: { north: { summary: 'An aisle', value: { id: 1, name: 'North', width: 2 } } },
    patch: { wide: { summary: 'A wide aisle', value: { width: 3 } } },
  };
  @ApiResource({ ...DOCS, dto: ToolDto, examples })
  @Controller('long-aisles')
  class PatchedController {
    @Patch(':id')
    patch(@Param('id') _id: string, @Body() aisle: ToolPatchDto): ToolPatchDto {
      return aisle;
    }
  }
  const patch = (await pathsOf(PatchedController))['/long-aisles/{id}']?.patch;
  expect(patch?.responses['200']).toMatchObject({
    content: {
      'application/json': { examples: { wide: { value: { id: 1, name: 'North', width: 3 } } } },
    },
  });
});

it('further errors of a usual route stand beside the usual ones of their status', async () => {
  @ApiAisles
  @Controller('long-aisles')
  class ErrorsController {
    @Delete(':id')
    @ApiErrors([TOOL_ERRORS.noSuchTool, 'there is no aisle 7'], {
      ...TOOL_ERRORS.noSuchTool,
      number: 40481,
      code: 'no-such-floor',
      message: 'there is no floor',
    })
    remove(@Param('id') id: string): string {
      return id;
    }
  }
  const { responses } = (await pathsOf(ErrorsController))['/long-aisles/{id}']!.delete!;
  expect(responses['404']).toMatchObject({
    description: '40480: there is no tool with this id\n\n40481: there is no floor',
    content: {
      'application/json': {
        examples: {
          'no-such-tool': { value: { message: 'there is no aisle 7' } },
          'no-such-floor': { value: { error: 40481 } },
        },
      },
    },
  });
  expect(responses['401']).toEqual(stored?.delete?.responses['401']);
});

it('a response has the examples of its properties, also of a class without constraints', async () => {
  class AisleNameDto {
    @ApiProperty({ type: 'string' })
    readonly name!: string;
  }
  @ApiAisles
  @Controller('long-aisles')
  class NamesController {
    @Post()
    @HttpCode(200)
    @ApiOkResponse({ type: AisleNameDto })
    create(@Body() aisle: ToolDto): ToolDto {
      return aisle;
    }
  }
  const responses = JSON.stringify(
    (await pathsOf(NamesController))['/long-aisles']?.post?.responses,
  );
  expect(responses).toContain('"value":{"name":"North"}');
});

it('the deprecated decorators of methods write the same', async () => {
  const API = apiOperations({
    ...DOCS,
    operationIds: ['Aisle', 'Aisles'],
    created: ToolDto,
    answer: ToolWithoutIdDto,
    stored: ToolDto,
    examples: EXAMPLES,
    changed: 1,
    refused: { message: 'name is missing' },
  });

  @Controller('long-aisles')
  class OldController {
    @Post()
    @HttpCode(200)
    @API.create
    create(@Body() aisle: ToolDto): ToolDto {
      return aisle;
    }

    @Delete(':id')
    @RequireScope('aisles:write')
    @API.remove
    remove(@Param('id') id: string): string {
      return id;
    }
  }

  const old = await pathsOf(OldController);
  expect(old['/long-aisles']?.post).toEqual(create);
  expect(old['/long-aisles/{id}']?.delete).toEqual(stored?.delete);
});
