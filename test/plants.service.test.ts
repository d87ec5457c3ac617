import { Test } from '@nestjs/testing';
import { describe, expect, it } from 'vitest';
import { BodyValidationPipe } from '../src/http/body-validation.pipe.js';
import { PlantsRepository } from '../src/plants/plants.repository.js';
import { PlantsService } from '../src/plants/plants.service.js';

/** The service on a table from which somebody removes each plant between two statements, some times. */
async function serviceWithRemovals(removals: number): Promise<PlantsService> {
  let left = removals;
  const table: Pick<PlantsRepository, 'insertIfAbsent' | 'findById'> = {
    insertIfAbsent: () => Promise.resolve(left-- <= 0),
    findById: () => Promise.resolve(null),
  };
  const module = await Test.createTestingModule({
    providers: [PlantsService, { provide: PlantsRepository, useValue: table }],
  }).compile();
  return module.get(PlantsService);
}

describe('creating a plant whose id is removed at the same moment', () => {
  it('succeeds, for the id is free', async () => {
    const plants = await serviceWithRemovals(2);
    expect(await plants.create({ id: 1n, name: 'a', tag: 'b' })).toEqual({ name: 'a', tag: 'b' });
  });

  it('is given up after some attempts, and may be tried again', async () => {
    const plants = await serviceWithRemovals(Infinity);
    await expect(plants.create({ id: 1n, name: 'a' })).rejects.toMatchObject({
      code: 'overloaded',
    });
  });
});

describe('a body whose class got lost by `import type`', () => {
  it.each([undefined, Object])('is an error of ours, never an unchecked body (%o)', (metatype) => {
    const pipe = new BodyValidationPipe();
    expect(() => pipe.transform({ id: 1 }, { type: 'custom', metatype })).toThrow(TypeError);
  });
});
