import { makeCalls } from './calls.js';
import {
  Configuration,
  ModelErrorFromJSON,
  PlantsApi,
  ResponseError,
} from './generated/typescript-fetch/index.js';

await makeCalls((basePath, accessToken) => {
  const store = new PlantsApi(new Configuration({ basePath, accessToken }));
  return {
    create: (id, name, tag) =>
      store
        .createPlant({ newPlant: { id, name, ...(tag !== undefined && { tag }) } })
        .then((plant) => `created ${plant.name}, ${plant.tag ?? null}`, refusal),
    get: (id) =>
      store
        .getPlant({ id })
        .then((plant) => `stored ${plant.id} ${plant.name}, ${plant.tag ?? null}`, refusal),
  };
}, Number);

async function refusal(thrown: unknown): Promise<string> {
  if (!(thrown instanceof ResponseError)) throw thrown;
  const { error, message } = ModelErrorFromJSON(await thrown.response.json());
  return `refused ${thrown.response.status} ${error} ${message}`;
}
