import { Body, Controller, Delete, Param, Post } from '@nestjs/common';
import { SwaggerModule } from '@nestjs/swagger';
import { Test } from '@nestjs/testing';
import { expect, it } from 'vitest';
import { RequireScope } from '../../src/auth/require-scope.decorator.js';
import { ERRORS } from '../../src/errors/common-errors.js';
import { apiOperations } from '../../src/resources/documents/api-operations.js';
import type { ResourceDocs } from '../../src/resources/documents/resource-docs.js';
import { TOOL_ERRORS, ToolDto, ToolPatchDto, ToolReplacementDto } from '../support/tool.js';

const DOCS: ResourceDocs = {
  one: 'an aisle',
  plural: 'aisles',
  operationIds: ['Aisle', 'Aisles'],
  created: ToolDto,
  stored: ToolDto,
  replacement: ToolReplacementDto,
  patch: ToolPatchDto,
  errors: {
    idTaken: TOOL_ERRORS.idTaken,
    noSuch: TOOL_ERRORS.noSuchTool,
    others: [ERRORS.tooManyImports],
    removal: [ERRORS.tooManyLists],
  },
  examples: { north: { summary: 'An aisle', value: { id: 1, name: 'North' } } },
  changed: 1,
  imported: [{}, {}],
  refused: { body: [{}, {}], message: 'length is missing' },
};

const API = apiOperations(DOCS);

@Controller('aisles')
class AislesController {
  @Post()
  @API.create
  create(@Body() aisle: ToolDto): ToolDto {
    return aisle;
  }

  @RequireScope('aisles:write')
  @Delete(':id')
  @API.remove
  remove(@Param('id') id: string): string {
    return id;
  }
}

async function paths() {
  const module = await Test.createTestingModule({ controllers: [AislesController] }).compile();
  return SwaggerModule.createDocument(module.createNestApplication(), {
    openapi: '3.1.0',
    info: { title: 'Aisles', version: '1' },
  }).paths;
}

it('a removal has the failures that are declared for it, and not those of creates and changes', async () => {
  const responses = JSON.stringify((await paths())['/aisles/{id}']?.delete?.responses);
  const numbers = Array.from(responses.matchAll(/"error":(\d+)/g), ([, number]) => Number(number));
  expect(numbers).toContain(ERRORS.tooManyLists.number);
  expect(numbers).not.toContain(ERRORS.tooManyImports.number);
});

it('a create is described in the words of its resource, whatever letter its name begins with', async () => {
  const create = (await paths())['/aisles']?.post;
  expect(create).toMatchObject({
    summary: 'Create an aisle',
    description: expect.stringMatching(/^Creates a new aisle in the store\./),
  });
  const responses = JSON.stringify(create?.responses);
  expect(responses).toContain('{"error":40003,"message":"length is missing"}');
  expect(responses).toContain('id 1 belongs to an aisle with other content');
});

it('an operation whose body has no documentation is refused', () => {
  const { replacement: _, patch: __, ...docs } = DOCS;
  const { replace, patch } = apiOperations(docs);
  const apply = (operation: MethodDecorator) => () =>
    operation(AislesController.prototype, 'remove', {});
  expect(apply(replace)).toThrow('the docs of aisles have no replacement');
  expect(apply(patch)).toThrow('the docs of aisles have no patch');
});
