import createClient from 'openapi-fetch';
import { makeCalls } from './calls.js';
import type { paths } from './generated/numbers.js';

await makeCalls((baseUrl, token) => {
  const store = createClient<paths>({ baseUrl, headers: { Authorization: `Bearer ${token}` } });
  return {
    create: async (id, name, tag) => {
      const { data, error, response } = await store.POST('/plants', {
        body: { id, name, ...(tag !== undefined && { tag }) },
      });
      return data === undefined
        ? `refused ${response.status} ${error.error} ${error.message}`
        : `created ${data.name}, ${data.tag ?? null}`;
    },
    get: async (id) => {
      const { data, error, response } = await store.GET('/plants/{id}', {
        params: { path: { id } },
      });
      return data === undefined
        ? `refused ${response.status} ${error.error} ${error.message}`
        : `stored ${data.id} ${data.name}, ${data.tag ?? null}`;
    },
  };
}, Number);
