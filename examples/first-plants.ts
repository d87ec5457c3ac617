/*
 * First requests in TypeScript, with fetch and no dependencies:
 * npx tsc --project examples && node examples/dist/first-plants.js
 */
import { readFile } from 'node:fs/promises';
// Generated from the OpenAPI document.
import type { components } from './plant-store.d.js';

type NewPlant = components['schemas']['NewPlant'];
type Plant = components['schemas']['Plant'];
type StoredPlant = components['schemas']['StoredPlant'];
type ErrorBody = components['schemas']['Error'];

const {
  PLANT_STORE_URL: url = 'http://localhost:3000',
  // `npm start` writes its token there; `docker compose up` prints its token to the log.
  PLANT_STORE_TOKEN_FILE: file = '.data/token',
  PLANT_STORE_TOKEN: token = (await readFile(file, 'utf8')).trim(),
} = process.env;

/** An error response of the service. */
class PlantStoreError extends Error {
  constructor(
    /** Identifies the kind of error, such as 40009 for an id that is taken. */
    readonly number: number,
    message: string,
  ) {
    super(message);
  }
}

/** @throws PlantStoreError */
async function request<Content>(method: string, path: string, body?: unknown): Promise<Content> {
  const response = await fetch(`${url}${path}`, {
    method,
    headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
    body: body === undefined ? null : JSON.stringify(body),
    signal: AbortSignal.timeout(10_000),
  });
  // Ids above 2^53 need a parser that keeps all digits, such as lossless-json.
  const content: unknown = await response.json();
  if (response.ok) return content as Content;
  const { error, message } = content as ErrorBody;
  throw new PlantStoreError(error, message);
}

const createPlant = (plant: NewPlant) => request<Plant>('POST', '/plants', plant);
const getPlant = (id: number) => request<StoredPlant>('GET', `/plants/${id}`);

const monstera: NewPlant = { id: 2001, name: 'Monstera', tag: 'indoor' };
console.log('created', await createPlant(monstera));
console.log('created again, as when the response was lost', await createPlant(monstera));
console.log('stored', await getPlant(monstera.id));
try {
  await createPlant({ id: monstera.id, name: 'Ficus' });
} catch (error) {
  if (!(error instanceof PlantStoreError)) throw error;
  console.log('refused', error.number, error.message);
}
