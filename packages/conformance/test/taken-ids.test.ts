import { expect, it, vi } from 'vitest';
import { checks, TestedService } from '../src/index.js';
import type { Exchange, OpenApiDocument } from '../src/index.js';
import { DOCUMENT } from './support/sample-document.js';

/* Notes whose ids clients choose. */

const { '/notes': notes } = DOCUMENT.paths;
const { NewNote } = DOCUMENT.components.schemas;
const document = {
  paths: { '/notes': { ...notes, post: { ...notes.post, parameters: [] } } },
  components: {
    schemas: {
      ...DOCUMENT.components.schemas,
      NewNote: { ...NewNote, properties: { ...NewNote.properties, id: { type: 'integer' } } },
    },
  },
} as unknown as OpenApiDocument;

const NAME = 'creates of notes: another content does not take its place';

/** The result for a service that says this of one create after the other. */
function resultFor(statusOf: (create: number) => number) {
  const service = new TestedService(document, { url: 'http://localhost', token: 'a' });
  let create = 0;
  vi.spyOn(service, 'send').mockImplementation((method, path): Promise<Exchange> => {
    const status = statusOf((create += 1));
    const fixed = { requestHeaders: {}, requestBody: undefined, headers: {}, body: '{}' };
    return Promise.resolve({ method, path, status, ...fixed });
  });
  // The time of a check makes another object of the service, whose prototype this one is.
  return checks(document)
    .find(({ name }) => name === NAME)!
    .run(service);
}

it('a service that rejects all values that are made up cannot be checked', async () => {
  expect(await resultFor(() => 409)).toEqual({
    name: NAME,
    outcome: 'not applicable',
    reason: 'no content that is made up creates notes',
  });
});

it('a service that rejects creates only if they come at once is found', async () => {
  expect(await resultFor((create) => (create > 8 ? 200 : 409))).toMatchObject({
    outcome: 'fail',
    reason: '0 creates of one id succeed',
  });
});
