import { makeCalls } from './calls.js';
import { exactStoreAt } from './generated/exact-store.js';

await makeCalls<bigint>(
  (url, token) => {
    const store = exactStoreAt(url, token);
    return {
      create: async (id, name, tag) => {
        const { data, error, response } = await store.createPlant({
          id,
          name,
          ...(tag !== undefined && { tag }),
        });
        return data === undefined
          ? `refused ${response.status} ${error.error} ${error.message}`
          : `created ${data.name}, ${data.tag ?? null}`;
      },
      get: async (id) => {
        const { data, error, response } = await store.getPlant(id);
        return data === undefined
          ? `refused ${response.status} ${error.error} ${error.message}`
          : `stored ${data.id} ${data.name}, ${data.tag ?? null}`;
      },
    };
  },
  (id) => id,
);
