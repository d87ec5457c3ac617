import { expect, it } from 'vitest';
import { trialOf } from '../../src/reference/document.js';

const endpointsOf = (...all: readonly string[]) =>
  all.map((one) => {
    const [method = '', path = ''] = one.split(' ');
    return { method, path } as Parameters<typeof trialOf>[0][number];
  });

it.each([
  ['the first row', '/tools/0', ['get /tools', 'get /tools/{id}', 'get /loans/{id}']],
  ['a row, not what belongs to it', '/tools/0', ['get /tools/{id}/loans', 'get /tools/{id}']],
  ['a list where no row can be read', '/tools', ['get /loans', 'get /tools', 'put /tools/{id}']],
  ['the root where nothing can be read', '/', ['post /tools']],
])('a token is tried with %s', (_, path, endpoints) => {
  expect(trialOf(endpointsOf(...endpoints))).toBe(path);
});

it('a token is tried with an id of the type that the resource has', () => {
  const [endpoint] = endpointsOf('get /loans/{id}');
  const parameters = [{ name: 'id', in: 'path', schema: { format: 'uuid' } }];
  expect(trialOf([{ ...endpoint!, parameters }])).toBe(
    '/loans/00000000-0000-0000-0000-000000000000',
  );
});
