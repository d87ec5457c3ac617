import { parse, parseNumberAndBigInt, stringify } from 'lossless-json';
import createClient from 'openapi-fetch';
import type { components, paths } from './generated/plant-store.js';

type NewPlant = components['schemas']['NewPlant'];
type StoredPlant = components['schemas']['StoredPlant'];

/** A plant store whose ids are `bigint`. */
export function exactStoreAt(baseUrl: string, token: string) {
  const client = createClient<paths>({
    baseUrl,
    headers: { Authorization: `Bearer ${token}` },
    // JSON.stringify() throws on a bigint.
    bodySerializer: (body) => stringify(body),
  });
  return {
    createPlant: (body: NewPlant) => client.POST('/plants', { body }),
    getPlant: async (id: bigint) => {
      const params = { path: { id } };
      // JSON.parse() would round the id.
      const answer = await client.GET('/plants/{id}', { params, parseAs: 'text' });
      if (answer.data === undefined) return answer;
      return { ...answer, data: parse(answer.data, null, parseNumberAndBigInt) as StoredPlant };
    },
  };
}
