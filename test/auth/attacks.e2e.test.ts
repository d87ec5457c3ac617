import { hash } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { newTokenId } from '../../packages/framework/src/auth/issued-tokens/token-format.js';
import { FORMAT, call, issue } from '../support/issued-tokens.js';
import { idOf } from '../../packages/framework/test/support/tokens.js';
import { allowOf, OPERATIONS } from '../support/operations.js';
import type { Operation } from '../support/operations.js';
import { RawSocket } from '../../packages/framework/test/support/raw-socket.js';
import { createMigratedDatabase } from '../support/migrated-database.js';
import type { TestDatabase } from '../../packages/framework/test/support/test-database.js';
import { startTestService } from '../support/test-service.js';
import type { Answer, TestService } from '../support/test-service.js';

/* What others do to get in. test/auth/jwt.e2e.test.ts has the attacks on JWTs. */

const SECRET_NAME = 'Titan arum';

let database: TestDatabase;
let service: TestService;
let plants: string;
/** Permits everything, only to read and only to write. */
let token: string;
let reader: string;
let writer: string;

beforeAll(async () => {
  database = await createMigratedDatabase();
  const create = (right: string) => {
    const scopes = [...new Set(OPERATIONS.map(({ scope }) => scope))];
    const wanted = scopes.filter((scope) => right !== '' && scope.endsWith(right));
    const args = wanted.flatMap((scope) => ['--scope', scope]);
    return issue(database.url, 'create', '--name', 'victim', ...args);
  };
  token = await create('');
  reader = await create(':read');
  writer = await create(':write');
  service = await startTestService({ database });
  plants = `${service.url}/plants`;
  expect((await service.post({ id: 1, name: SECRET_NAME })).status).toBe(200);
  expect(await call(plants, token)).toBe('200');
});

afterAll(async () => {
  await service.stop();
  await database.drop();
});

function swapCase(text: string): string {
  return text.replaceAll(/[a-z]/gi, (letter) =>
    letter === letter.toLowerCase() ? letter.toUpperCase() : letter.toLowerCase(),
  );
}

/** Another character that a token may have. */
function other(character: string): string {
  return character === 'A' ? 'B' : 'A';
}

describe('a token that is not quite an issued one', () => {
  it.each<[string, () => string | readonly string[]]>([
    [
      'with one other character, wherever',
      () => token.split('').map((old, i) => token.slice(0, i) + other(old) + token.slice(i + 1)),
    ],
    [
      'without a character',
      () => token.split('').map((_, i) => token.slice(0, i) + token.slice(i + 1)),
    ],
    ['in the other case', () => [swapCase(token), token.toUpperCase(), token.toLowerCase()]],
    ['with another secret, and its checksum', () => FORMAT.create(idOf(token))],
    ['with the secret of another', () => token.slice(0, 17) + reader.slice(17)],
    ['that nobody has issued', () => FORMAT.create(newTokenId())],
    ['that is only its id', () => [idOf(token), `pst_${idOf(token)}`, `pst_${idOf(token)}_`]],
    [
      'that is its hash, which the database has',
      () => {
        const digest = hash('sha256', token, 'buffer');
        const encodings = ['hex', 'base64', 'base64url', 'latin1'] as const;
        return encodings.map((encoding) => encodeURIComponent(digest.toString(encoding)));
      },
    ],
    [
      'with its hash as the secret',
      () => `pst_${idOf(token)}_${hash('sha256', token, 'hex').slice(0, 28)}`,
    ],
    ['that comes twice', () => [token + token, `${token} ${token}`, `${token}, Bearer ${token}`]],
    ['in other clothes', () => [`"${token}"`, `${token};`, token.replaceAll('_', '%5F')]],
    ['with much behind it', () => token + 'A'.repeat(10_000)],
    ['that is a pattern', () => ['pst_%', 'pst_*', 'pst_.*', `pst_${'_'.repeat(41)}`]],
    ['that is SQL', () => `pst_' OR '1'='1`],
  ])('is refused %s', async (_, forge) => {
    const answers = await Promise.all([forge()].flat().map((forged) => call(plants, forged)));
    expect([...new Set(answers)]).toEqual(['401 40101']);
    expect(await call(plants, token)).toBe('200');
  });
});

describe('a token without the scope', () => {
  const paths = [...new Set(OPERATIONS.map(({ path }) => path))];
  const OVERRIDES = ['X-HTTP-Method-Override', 'X-HTTP-Method', 'X-Method-Override', 'X-Method'];

  /** With every way to ask for another method that a framework knows. */
  function ask(method: string, path: string, own: string, wanted: string): Promise<Answer> {
    const headers = Object.fromEntries(OVERRIDES.map((name) => [name, wanted]));
    const hasBody = !['GET', 'HEAD', 'OPTIONS'].includes(method);
    return service.request(method, `${pathOf(path)}?_method=${wanted}`, {
      headers: {
        ...headers,
        Authorization: `Bearer ${own}`,
        'Content-Type': 'application/x-www-form-urlencoded',
      },
      ...(hasBody && { body: `_method=${wanted}` }),
    });
  }

  it.each(OPERATIONS.map((each): [string, string, Operation] => [each.method, each.path, each]))(
    'does not get to %s %s by asking for another method',
    async (method, path, { scope }) => {
      const isRead = scope.endsWith(':read');
      const before = await stored();
      for (const wanted of ['GET', 'HEAD', 'OPTIONS', 'POST', 'PUT', 'PATCH', 'DELETE']) {
        const { status } = await ask(method, path, isRead ? writer : reader, wanted);
        expect(status).toBe(403);
      }
      // Another method, as which the request is meant to be taken.
      for (const allowed of isRead ? [] : ['GET', 'HEAD', 'OPTIONS']) {
        await ask(allowed, path, reader, method);
      }
      expect(await stored()).toEqual(before);
    },
  );

  it.each(paths)('learns nothing of %s by HEAD and OPTIONS', async (path) => {
    const head = await ask('HEAD', path, writer, 'GET');
    expect(head.status).toBe(allowOf(path).includes('HEAD') ? 403 : 405);
    expect(head.headers.get('etag')).toBeNull();
    const options = await ask('OPTIONS', path, writer, 'GET');
    expect(options.text).not.toContain(SECRET_NAME);
    expect(options.headers.get('allow')).toBe(allowOf(path));
  });
});

describe('a token that permits only to write', () => {
  // As docs/tokens.md says: the answer to a change shows what is stored.
  it('sees a plant that it changes, and no list', async () => {
    const headers = {
      Authorization: `Bearer ${writer}`,
      'Content-Type': 'application/merge-patch+json',
    };
    const changed = await service.request('PATCH', '/plants/1', { headers, body: '{}' });
    expect(changed.json).toMatchObject({ name: SECRET_NAME });
    expect((await service.request('GET', '/plants', { headers })).status).toBe(403);
  });
});

describe('a path that is written in another way', () => {
  it.each([
    '//plants',
    '/plants/',
    '/PLANTS',
    '/plants/.',
    '/./plants',
    '/docs/../plants',
    '/%70lants',
    '/docs/%2e%2e/plants',
    '/docs/..%2fplants',
    '/docs/..;/plants',
    '/plants;x=1',
    '/plants%00',
    '/plants%2f1',
    '/plants/1/../1',
    '/plants/%31',
    '/plants#',
    'http://plants/plants',
    '*',
    'plants',
  ])('does not lead around the guard: %s', async (target) => {
    for (const method of ['GET', 'HEAD', 'DELETE']) {
      const status = await raw(`${method} ${target} HTTP/1.1\r\nHost: plants\r\n\r\n`, method);
      expect([400, 401, 404, 405]).toContain(status);
    }
    expect(await stored()).toContainEqual({ id: '1', name: SECRET_NAME });
  });
});

function pathOf(path: string): string {
  return path.replaceAll(/\{\w+\}/g, '1');
}

/** Everything that somebody could have changed. */
function stored(): Promise<Record<string, unknown>[]> {
  return database.query('SELECT id, name FROM plants ORDER BY id');
}

/** The status of a request that `fetch` would not send. */
async function raw(request: string, method = 'GET'): Promise<number> {
  const socket = await RawSocket.open(service.port);
  try {
    socket.send(request);
    const { status, body } = await socket.answer({ toHead: method === 'HEAD' });
    expect(body).not.toContain(SECRET_NAME);
    return status;
  } finally {
    socket.destroy();
  }
}
