/* The document of a small service that keeps all promises: notes, whose ids the service makes, and their changes. */

const ID = { type: 'integer', format: 'int64' };
const TEXT = { type: 'string', minLength: 1, maxLength: 200 };
const COUNT = { type: 'integer', minimum: 0, maximum: 1_000_000 };
const ANY_JSON = { anyOf: [{}] };
const CONTENT = { text: TEXT, count: COUNT, details: ANY_JSON };
const reference = (name) => ({ $ref: `#/components/schemas/${name}` });
const json = (schema) => ({ content: { 'application/json': { schema } } });
const parameter = (place, name, schema, required = false) => ({
  in: place,
  name,
  schema,
  required,
});
const inQuery = (name, schema) => parameter('query', name, schema);
const PATH = [parameter('path', 'id', ID, true)];
const IF_MATCH = parameter('header', 'If-Match', { type: 'string' });
const operation = (operationId, scope, rest) => ({
  operationId,
  'x-required-scope': scope,
  ...rest,
});

/** The numbers of errors. */
export const ERRORS = [
  40000, 40001, 40002, 40003, 40004, 40100, 40101, 40300, 40400, 40401, 40500, 41200, 41500, 42200,
  50300,
];

export const DOCUMENT = {
  openapi: '3.1.0',
  paths: {
    '/notes': {
      get: operation('listNotes', 'notes:read', {
        parameters: [
          inQuery('limit', { type: 'integer', minimum: 1, maximum: 1_000 }),
          inQuery('after', ID),
          inQuery('sort', { type: 'string', enum: ['id', '-id'] }),
          inQuery('count', { type: 'boolean' }),
          inQuery('text', TEXT),
        ],
        responses: { 200: json({ type: 'array', items: reference('StoredNote') }) },
      }),
      post: operation('createNote', 'notes:write', {
        parameters: [parameter('header', 'Idempotency-Key', TEXT)],
        requestBody: json(reference('NewNote')),
        responses: { 201: json(reference('StoredNote')) },
      }),
    },
    '/notes/export': {
      get: operation('exportNotes', 'notes:read', {
        responses: { 200: { content: { 'application/x-ndjson': { schema: TEXT } } } },
      }),
    },
    '/notes/{id}': {
      get: operation('getNote', 'notes:read', {
        parameters: PATH,
        responses: { 200: json(reference('StoredNote')), 404: {} },
      }),
      patch: operation('patchNote', 'notes:write', {
        parameters: [...PATH, IF_MATCH],
        requestBody: json(reference('NotePatch')),
        responses: { 200: json(reference('StoredNote')) },
      }),
      delete: operation('deleteNote', 'notes:write', {
        parameters: [...PATH, IF_MATCH],
        responses: { 204: {}, 404: {} },
      }),
    },
    '/changes': {
      get: operation('listChanges', 'notes:read', {
        parameters: [inQuery('after', ID), inQuery('limit', COUNT)],
        responses: {
          200: {
            content: {
              'application/json': { schema: { type: 'array', items: reference('Change') } },
              'text/event-stream': { schema: { type: 'string' } },
            },
          },
        },
      }),
    },
    '/changes/latest': {
      get: operation('getLatest', 'notes:read', { responses: { 200: json(reference('Latest')) } }),
    },
  },
  components: {
    schemas: {
      Error: {
        type: 'object',
        properties: {
          error: { type: 'integer', description: ERRORS.map((each) => `- ${each}: …`).join('\n') },
          message: { type: 'string' },
        },
      },
      NewNote: { type: 'object', properties: CONTENT, required: ['text', 'count'] },
      NotePatch: { type: 'object', properties: CONTENT },
      StoredNote: { type: 'object', properties: { id: ID, ...CONTENT } },
      Latest: { type: 'object', properties: { position: ID } },
      Change: {
        type: 'object',
        properties: {
          position: ID,
          kind: { type: 'string' },
          id: ID,
          note: { allOf: [reference('StoredNote')] },
        },
      },
    },
  },
};

const FOLDER_ID = parameter('path', 'folderId', ID, true);
const { '/notes': notes } = DOCUMENT.paths;
const { StoredNote, NewNote } = DOCUMENT.components.schemas;
const inFolder = (schema) => ({ ...schema, properties: { ...schema.properties, folderId: ID } });

/** With folders of notes, and removed notes that can be restored. */
export const LARGE_DOCUMENT = {
  ...DOCUMENT,
  paths: {
    ...DOCUMENT.paths,
    '/notes/{id}/restore': {
      post: operation('restoreNote', 'notes:write', {
        parameters: PATH,
        responses: { 200: json(reference('StoredNote')), 404: {} },
      }),
    },
    '/folders': {
      post: operation('createFolder', 'notes:write', {
        requestBody: json(reference('NewFolder')),
        responses: { 201: json(reference('StoredFolder')) },
      }),
    },
    '/folders/{id}': {
      get: operation('getFolder', 'notes:read', {
        parameters: PATH,
        responses: { 200: json(reference('StoredFolder')), 404: {} },
      }),
      delete: operation('deleteFolder', 'notes:write', {
        parameters: PATH,
        responses: { 204: {}, 404: {} },
      }),
    },
    '/folders/{folderId}/notes': {
      get: operation('listFolderNotes', 'notes:read', {
        parameters: [FOLDER_ID, ...notes.get.parameters],
        responses: notes.get.responses,
      }),
    },
  },
  components: {
    schemas: {
      ...DOCUMENT.components.schemas,
      NewFolder: { type: 'object', properties: { text: TEXT }, required: ['text'] },
      StoredFolder: { type: 'object', properties: { id: ID, text: TEXT } },
      NewNote: inFolder(NewNote),
      StoredNote: inFolder(StoredNote),
    },
  },
};
