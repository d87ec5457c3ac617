import { PlantStore, PlantStoreError } from '@plant-store/client';

/* Runs in the browser. What it returns has to be JSON. */

/** @param {import('../../dist-client/dist/plant-store.js').PlantStoreOptions} options */
export async function makeCalls(options) {
  const store = new PlantStore(options);
  const id = 9007199254740993n;

  await store.create({ id, name: 'Ficus', tag: 'indoor' });
  const { etag = '' } = await store.get(id);
  await store.patch(id, { tag: null }, { ifMatch: etag });
  const failure = await store.remove(id, { ifMatch: etag }).catch((error) => error);

  const aloes = Array.from({ length: 20 }, (_, index) => ({ id: BigInt(index), name: 'Aloe' }));
  const running = store.import([{ id, name: 'Aloe' }, ...aloes]);
  const refused = [];
  for await (const { line, code } of running) refused.push([line, code]);

  const listed = [];
  for await (const plant of store.plants({ limit: 10 })) listed.push(String(plant.id));
  const exported = [];
  for await (const plant of store.export()) exported.push(String(plant.id));

  return {
    failure: failure instanceof PlantStoreError && failure.code,
    refused,
    summary: await running.summary(),
    listed,
    exported,
  };
}

/** @param {import('../../dist-client/dist/plant-store.js').PlantStoreOptions} options */
export function importRefusedPlants(options) {
  const plants = Array.from({ length: 5_000 }, (_, index) => ({ id: BigInt(index), name: '\0' }));
  return new PlantStore(options).import(plants).summary();
}

/** @param {import('../../dist-client/dist/plant-store.js').PlantStoreOptions} options */
export function createOne(options) {
  return new PlantStore(options).create({ id: 9007199254740993n, name: 'Ficus' });
}

/** @param {import('../../dist-client/dist/plant-store.js').PlantStoreOptions} options */
export async function followToTheLatest(options) {
  const store = new PlantStore(options);
  const latest = await store.latestPosition();
  const ids = [];
  for await (const { position, id } of store.followChanges()) {
    ids.push(Number(id));
    if (position === latest) break;
  }
  return ids;
}
