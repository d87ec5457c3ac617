import * as generated from './generated/typescript-fetch/index.js';

interface Call {
  readonly tag: string;
  readonly operation: string;
  readonly id?: number;
  readonly body?: unknown;
  readonly bodyName?: string;
}

type Api = Readonly<Record<string, (request: object) => Promise<unknown>>>;

/* Makes the calls of PLANT_STORE_CALLS with the client of openapi-generator (typescript-fetch), and prints each answer
   as JSON. */

const { PLANT_STORE_URL: basePath = '', PLANT_STORE_TOKEN: accessToken = '' } = process.env;
const apis = generated as unknown as Record<string, new (from: generated.Configuration) => Api>;
for (const call of JSON.parse(process.env['PLANT_STORE_CALLS'] ?? '') as Call[]) {
  const { tag, operation, id, body, bodyName = 'body' } = call;
  const name = tag.replaceAll(/(?:^|-)(\w)/g, (_, letter: string) => letter.toUpperCase());
  const api = new apis[`${name}Api`](new generated.Configuration({ basePath, accessToken }));
  const member = bodyName.charAt(0).toLowerCase() + bodyName.slice(1);
  console.log(JSON.stringify((await api[operation]({ id, [member]: body })) ?? null));
}
