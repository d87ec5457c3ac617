import { Controller, Delete, Param } from '@nestjs/common';
import { SwaggerModule } from '@nestjs/swagger';
import { Test } from '@nestjs/testing';
import { expect, it } from 'vitest';
import { RequireScope } from '../src/auth/require-scope.decorator.js';
import { ERRORS } from '../src/errors/common-errors.js';
import { PlantPatchDto, PlantReplacementDto, StoredPlantDto } from '../src/plants/dto/plant.dto.js';
import { PLANT_ERRORS } from '../src/plants/plants.errors.js';
import { apiOperations } from '../src/resources/api-operations.js';

const API = apiOperations({
  one: 'a shelf',
  plural: 'shelves',
  operationIds: ['Shelf', 'Shelves'],
  created: StoredPlantDto,
  stored: StoredPlantDto,
  replacement: PlantReplacementDto,
  patch: PlantPatchDto,
  errors: {
    idTaken: PLANT_ERRORS.idTaken,
    noSuch: PLANT_ERRORS.noSuchPlant,
    others: [ERRORS.tooManyChanges],
    removal: [ERRORS.tooManyLists],
  },
  examples: {},
  changed: 1,
  replacements: {},
  patches: {},
  imported: [{}, {}],
  refused: { body: [{}, {}], message: '' },
});

@Controller('shelves')
class ShelvesController {
  @RequireScope('shelves:write')
  @Delete(':id')
  @API.remove
  remove(@Param('id') id: string): string {
    return id;
  }
}

it('a removal has the failures that are declared for it, and not those of creates and changes', async () => {
  const module = await Test.createTestingModule({ controllers: [ShelvesController] }).compile();
  const document = SwaggerModule.createDocument(module.createNestApplication(), {
    openapi: '3.1.0',
    info: { title: 'Shelves', version: '1' },
  });
  const responses = JSON.stringify(document.paths['/shelves/{id}']?.delete?.responses);
  const numbers = Array.from(responses.matchAll(/"error":(\d+)/g), ([, number]) => Number(number));
  expect(numbers).toContain(ERRORS.tooManyLists.number);
  expect(numbers).not.toContain(ERRORS.tooManyChanges.number);
});
