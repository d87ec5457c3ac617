import * as generated from './generated/typescript-fetch/index.js';

interface Call {
  readonly tag: string;
  readonly operation: string;
  readonly id?: number;
  readonly body?: unknown;
  readonly bodyName?: string;
  readonly token?: string;
  readonly below?: string;
}

type Api = Readonly<Record<string, (request: object) => Promise<unknown>>>;

/* Makes the calls of PLANT_STORE_CALLS with the client of openapi-generator (typescript-fetch), and prints each answer, or the
   status and the Error of a refusal, as JSON. */

const { PLANT_STORE_URL: url = '', PLANT_STORE_TOKEN = '' } = process.env;
const apis = generated as unknown as Record<string, new (from: generated.Configuration) => Api>;
for (const call of JSON.parse(process.env['PLANT_STORE_CALLS'] ?? '') as Call[]) {
  const { tag, operation, id, body, bodyName = 'body', below = '' } = call;
  const { token: accessToken = PLANT_STORE_TOKEN } = call;
  const basePath = url + below;
  const name = tag.replaceAll(/(?:^|-)(\w)/g, (_, letter: string) => letter.toUpperCase());
  const api = new apis[`${name}Api`](new generated.Configuration({ basePath, accessToken }));
  const member = bodyName.charAt(0).toLowerCase() + bodyName.slice(1);
  const answer = await api[operation]({ id, [member]: body }).catch(refusal);
  console.log(JSON.stringify(answer ?? null));
}

async function refusal(thrown: unknown): Promise<object> {
  if (!(thrown instanceof generated.ResponseError)) throw thrown;
  const { error, message } = generated.ModelErrorFromJSON(await thrown.response.json());
  return { status: thrown.response.status, error, message };
}
