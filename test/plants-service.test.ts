import { Test } from '@nestjs/testing';
import { beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { ERRORS } from '../src/errors/common-errors.js';
import { PlantStoreError } from '../src/errors/plant-store.error.js';
import { GroupCommit } from '../src/plants/group-commit.js';
import { GroupLookup } from '../src/plants/group-lookup.js';
import { PlantsService } from '../src/plants/plants.service.js';

const creates = { create: vi.fn<GroupCommit['create']>() };
const lookups = { find: vi.fn<GroupLookup['find']>() };
let service: PlantsService;

beforeAll(async () => {
  const module = await Test.createTestingModule({
    providers: [
      PlantsService,
      { provide: GroupCommit, useValue: creates },
      { provide: GroupLookup, useValue: lookups },
    ],
  }).compile();
  service = module.get(PlantsService);
});

beforeEach(() => {
  lookups.find.mockReset();
  creates.create.mockReset();
});

const outage = new PlantStoreError(ERRORS.databaseUnavailable);

describe('creating a plant', () => {
  it('answers with its content', async () => {
    creates.create.mockResolvedValue('created');
    expect(await service.create({ id: 7n, name: 'Fern', tag: 'shade' })).toEqual({
      name: 'Fern',
      tag: 'shade',
    });
    expect(await service.create({ id: 7n, name: 'Fern' })).toEqual({ name: 'Fern' });
    expect(creates.create).toHaveBeenLastCalledWith({ id: 7n, name: 'Fern', tag: null });
  });

  it('whose id is taken is refused with its id', async () => {
    creates.create.mockResolvedValue('taken');
    await expect(service.create({ id: 2n ** 62n, name: 'Fern' })).rejects.toMatchObject({
      code: 'id-taken',
      message: 'id 4611686018427387904 belongs to a plant with other content',
    });
  });

  it('fails as group commit fails', async () => {
    creates.create.mockRejectedValue(outage);
    await expect(service.create({ id: 7n, name: 'Fern' })).rejects.toBe(outage);
  });
});

describe('getting a plant', () => {
  it('returns the plant, without a null tag', async () => {
    lookups.find.mockResolvedValue({ id: 7n, name: 'Fern', tag: null });
    expect(await service.get(7n)).toEqual({ id: 7n, name: 'Fern' });
  });

  it('that is not stored is refused with its id', async () => {
    lookups.find.mockResolvedValue(undefined);
    await expect(service.get(7n)).rejects.toMatchObject({
      code: 'no-such-plant',
      message: 'there is no plant with id 7',
    });
  });

  it('fails as the group of look-ups fails', async () => {
    lookups.find.mockRejectedValue(outage);
    await expect(service.get(7n)).rejects.toBe(outage);
  });
});
