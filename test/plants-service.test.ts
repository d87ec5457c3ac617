import { Test } from '@nestjs/testing';
import { beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { PlantStoreError } from '../src/errors/plant-store.error.js';
import { PlantsRepository } from '../src/plants/plants.repository.js';
import { PlantsService } from '../src/plants/plants.service.js';

const repository = { findById: vi.fn<PlantsRepository['findById']>() };
/** A mock of the group commit. */
const batch = { create: vi.fn<(plant: unknown) => Promise<string>>() };
let service: PlantsService;

beforeAll(async () => {
  const module = await Test.createTestingModule({ providers: [PlantsService] })
    .useMocker((token) => (token === PlantsRepository ? repository : batch))
    .compile();
  service = module.get(PlantsService);
});

beforeEach(() => {
  repository.findById.mockReset();
  batch.create.mockReset();
});

const outage = new PlantStoreError('database-unavailable');

describe('creating a plant', () => {
  it.each(['created', 'unchanged'])('that is %s answers with its content', async (creation) => {
    batch.create.mockResolvedValue(creation);
    expect(await service.create({ id: 7n, name: 'Fern', tag: 'shade' })).toEqual({
      name: 'Fern',
      tag: 'shade',
    });
    expect(await service.create({ id: 7n, name: 'Fern' })).toEqual({ name: 'Fern' });
    expect(batch.create).toHaveBeenLastCalledWith({ id: 7n, name: 'Fern', tag: null });
  });

  it('whose id is taken is refused with its id', async () => {
    batch.create.mockResolvedValue('taken');
    await expect(service.create({ id: 2n ** 62n, name: 'Fern' })).rejects.toMatchObject({
      code: 'id-taken',
      message: 'id 4611686018427387904 belongs to a plant with other content',
    });
  });

  it('fails as the batch fails', async () => {
    batch.create.mockRejectedValue(outage);
    await expect(service.create({ id: 7n, name: 'Fern' })).rejects.toBe(outage);
  });
});

describe('getting a plant', () => {
  it('returns the plant, without a null tag', async () => {
    repository.findById.mockResolvedValue({ id: 7n, name: 'Fern', tag: null });
    expect(await service.get(7n)).toEqual({ id: 7n, name: 'Fern' });
  });

  it('that is not stored is refused with its id', async () => {
    repository.findById.mockResolvedValue(null);
    await expect(service.get(7n)).rejects.toMatchObject({
      code: 'no-such-plant',
      message: 'there is no plant with id 7',
    });
  });

  it('fails as the repository fails', async () => {
    repository.findById.mockRejectedValue(outage);
    await expect(service.get(7n)).rejects.toBe(outage);
  });
});
