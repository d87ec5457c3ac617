import type { Type } from '@nestjs/common';
import { ApiSchema, DocumentBuilder, SwaggerModule } from '@nestjs/swagger';
import { Test } from '@nestjs/testing';
import { getMetadataStorage } from 'class-validator';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { validatedPropertiesOf, toDto } from '../../packages/framework/src/http/body/dto.pipe.js';
import { DtoOf } from '../../packages/framework/src/index.js';
import { parseExactJson } from '../../packages/framework/src/json/exact-json.js';
import { NewPlantDto, PlantDto } from '../../src/plants/dto/plant.dto.js';
import { Plant } from '../../src/plants/plant.entity.js';

/* The published DTOs, which spell out their properties, say what the entity says of them. */

const DTOS: readonly (readonly [Type<object>, Type<object>])[] = [
  [PlantDto, DtoOf(Plant, ['name', 'tag'])],
  [NewPlantDto, DtoOf(Plant, ['id', 'name', 'tag'])],
];

function constraintsOf(dto: Type<object>): readonly string[] {
  return getMetadataStorage()
    .getTargetValidationMetadatas(dto, '', true, false)
    .map(({ propertyName, type, name }) => `${propertyName}: ${name ?? type}`)
    .toSorted();
}

async function schemaOf(dto: Type<object>): Promise<unknown> {
  class Described extends dto {}
  ApiSchema({ name: 'Described' })(Described);
  const app = (await Test.createTestingModule({}).compile()).createNestApplication();
  const { components } = SwaggerModule.createDocument(app, new DocumentBuilder().build(), {
    extraModels: [Described],
  });
  return components?.schemas?.['Described'];
}

/** What becomes of a body: the properties of the DTO, or the message of the error. */
function resultOf(dto: Type<object>, body: string): unknown {
  try {
    return { ...toDto(dto, parseExactJson(body, 'body'), 'body') };
  } catch (error) {
    return (error as Error).message;
  }
}

const VALUE = fc.oneof(
  fc.string({ unit: 'binary' }).map((text) => JSON.stringify(text)),
  fc.constantFrom('null', '7', '-0', '1.5', '1e3', '9223372036854775808', '[]', '{}', '"\\u0000"'),
  fc.bigInt().map(String),
);

describe.each(DTOS)('%o', (dto, ofEntity) => {
  it('has the properties and constraints of the entity', () => {
    expect([...validatedPropertiesOf(dto)].toSorted()).toEqual(
      [...validatedPropertiesOf(ofEntity)].toSorted(),
    );
    expect(constraintsOf(dto)).toEqual(constraintsOf(ofEntity));
  });

  it('has the schema of the entity', async () => {
    expect(await schemaOf(dto)).toEqual(await schemaOf(ofEntity));
  });

  it('makes of each body what the entity says, with the messages of the entity', () => {
    const bodies = fc
      .dictionary(fc.constantFrom('id', 'name', 'tag', 'other'), VALUE)
      .map((members) => {
        const texts = Object.entries(members).map(([name, value]) => `"${name}":${value}`);
        return `{${texts.join(',')}}`;
      });
    fc.assert(
      fc.property(bodies, (body) => {
        expect(resultOf(dto, body)).toEqual(resultOf(ofEntity, body));
      }),
    );
  });
});
