import { afterAll, beforeAll, expect, it } from 'vitest';
import { ISSUED_TOKENS_SCHEMA } from '../../framework/src/auth/issued-tokens/access-token.entity.js';
import { dataSourceFor } from '../../framework/test/support/data-source.js';
import { createTestDatabase } from '../../framework/test/support/test-database.js';
import type { TestDatabase } from '../../framework/test/support/test-database.js';
import { documentWith, IDENTITY, resource, runWith } from './support/tool-library.js';

let database: TestDatabase;
let env: Record<string, string>;

beforeAll(async () => {
  database = await createTestDatabase();
  env = { DATABASE_URL: database.url };
  const service = { identity: IDENTITY, schema: ISSUED_TOKENS_SCHEMA };
  const dataSource = dataSourceFor(service, database.url);
  await dataSource.initialize();
  await dataSource.runMigrations();
  await dataSource.destroy();
});

afterAll(() => database.drop());

it.each([
  ['all scopes of a service', documentWith(resource('tools')), ['tools:read', 'tools:write']],
  ['no scope for a service without resources', documentWith(), []],
])('a token is issued with %s', async (_what, document, scopes) => {
  const args = ['token', 'create', '--name', 'test'];
  const { code, stdout, stderr } = await runWith(document, args, env);
  expect(stdout).toMatch(/^tlb_[0-9A-Za-z]{12}_\w+\n$/);
  expect(stderr).toContain(` with ${scopes.join(' ') || 'no scope'}, until `);
  expect(code).toBe(0);
  const [, id = ''] = stdout.split('_');
  const rows = await database.query('SELECT scopes FROM access_tokens WHERE id = $1', [id]);
  expect(rows).toEqual([{ scopes }]);
  expect((await runWith(document, ['token', 'list'], env)).stdout).toContain(id);
});

it('a script reads a token and its details as JSON', async () => {
  const document = documentWith(resource('tools'));
  const created = await runWith(document, ['token', 'create', '--name', 'a', '--json'], env);
  const { token, id, scopes } = JSON.parse(created.stdout) as {
    readonly token: string;
    readonly id: string;
    readonly scopes: readonly string[];
  };
  expect([created.code, scopes]).toEqual([0, ['tools:read', 'tools:write']]);
  expect(token).toMatch(new RegExp(`^tlb_${id}_`));
  const rotated = await runWith(document, ['token', 'rotate', id, '--json'], env);
  expect(JSON.parse(rotated.stdout)).toMatchObject({
    id,
    token: expect.stringMatching(`^tlb_${id}_`) as string,
  });
  const revoked = await runWith(document, ['token', 'revoke', id, '--json'], env);
  expect(JSON.parse(revoked.stdout)).toMatchObject({ id, status: 'revoked' });
});
