/**
 * The folders of the framework, from the lowest to the highest. A folder imports from itself and from folders before it;
 * what stands in `src` of the framework itself, `app` and `cli` put the folders together.
 */
export const LAYERS = [
  'bounds',
  'errors',
  'config',
  'observability',
  'json',
  'database',
  'auth',
  'http/responses',
  'http/errors',
  'http/body',
  'http/server',
  'management',
  'resources',
  'openapi',
  'website',
];

/** The rooms of `resources`, in the same order. Its own files put them together. */
const ROOMS = [
  'properties',
  'recording',
  'locks',
  'creates',
  'reads',
  'updates',
  'transfers',
  'idempotency',
  'documents',
  'generated-ids',
];

/** Where the folders of the framework are. */
export const FRAMEWORK = 'packages/framework/src';

/** What `@resource-service/framework` leads to. */
const INTERFACE = `^${FRAMEWORK}/index\\.ts$`;

/** What `@resource-service/changes` leads to, and what it has for migrations. */
const CHANGES = '^packages/changes/src/index\\.ts$';
const WEBHOOKS = '^packages/webhooks/src/index\\.ts$';
const CHANGES_MIGRATIONS = '^packages/changes/src/migrations\\.ts$';

/** What is not installed. */
const PROJECT = '^(packages/[^/]+/src|src|examples|test|bench)/';

/** A tool, not a service: it runs the code of create-service with a template of its own. */
const GENERATOR = '^examples/generate-resource\\.js$';

function importable(folder, folders) {
  return folders.slice(0, folders.indexOf(folder) + 1).join('|');
}

// dependency-cruiser wants a default export.
// oxlint-disable-next-line import/no-default-export
export default {
  forbidden: [
    ...LAYERS.map((layer) => ({
      name: `${layer} imports only from itself and from folders below it`,
      severity: 'error',
      from: { path: `^${FRAMEWORK}/${layer}/` },
      to: { path: `^${FRAMEWORK}/`, pathNot: `^${FRAMEWORK}/(${importable(layer, LAYERS)})/` },
    })),
    ...ROOMS.map((room) => ({
      name: `resources/${room} imports only from itself and from rooms before it`,
      severity: 'error',
      from: { path: `^${FRAMEWORK}/resources/${room}/` },
      to: {
        path: `^${FRAMEWORK}/resources/`,
        pathNot: `^${FRAMEWORK}/resources/(${importable(room, ROOMS)})/`,
      },
    })),
    {
      name: 'every room of resources has its place',
      severity: 'error',
      from: {},
      to: {
        path: `^${FRAMEWORK}/resources/[^/]+/`,
        pathNot: `^${FRAMEWORK}/resources/(${ROOMS.join('|')})/`,
      },
    },
    {
      name: 'every folder has its layer',
      severity: 'error',
      from: {},
      to: {
        path: `^${FRAMEWORK}/[^/]+/`,
        pathNot: `^${FRAMEWORK}/(${LAYERS.join('|')}|app|cli|testing)/`,
      },
    },
    {
      name: 'a package imports nothing but itself and packages',
      severity: 'error',
      from: { path: '^packages/' },
      to: { path: '^(src|examples|test|bench)/' },
    },
    {
      name: 'the reference of an API imports nothing but itself and packages that are installed',
      severity: 'error',
      from: { path: '^packages/api-reference/src/' },
      to: { path: PROJECT, pathNot: '^packages/api-reference/src/' },
    },
    {
      name: 'the service imports nothing but itself and packages',
      severity: 'error',
      from: { path: '^src/' },
      to: { path: '^(examples|test|bench)/' },
    },
    {
      name: 'a service imports packages by their names',
      severity: 'error',
      from: { path: '^(src|examples)/', pathNot: GENERATOR },
      to: { path: '^packages/', dependencyTypesNot: ['aliased-workspace'] },
    },
    {
      name: 'a package imports others by their names',
      severity: 'error',
      from: { path: '^packages/([^/]+)/' },
      to: { path: '^packages/', pathNot: '^packages/$1/', dependencyTypes: ['local'] },
    },
    {
      name: 'the framework does not import packages that build on it',
      severity: 'error',
      from: { path: `^${FRAMEWORK}/` },
      to: { path: '^packages/', pathNot: '^packages/(framework|api-reference|local)/' },
    },
    {
      name: 'the framework loads the local database only where it is needed',
      severity: 'error',
      from: { path: `^${FRAMEWORK}/`, pathNot: `^${FRAMEWORK}/(local|testing/global-setup)\\.ts$` },
      to: { path: '^packages/local/' },
    },
    {
      name: 'the local database imports nothing but itself and packages that are installed',
      severity: 'error',
      from: { path: '^packages/local/src/' },
      to: { path: PROJECT, pathNot: '^packages/local/src/' },
    },
    {
      name: 'the checks of conformance know a service by its document and HTTP only',
      severity: 'error',
      from: { path: '^packages/conformance/src/' },
      to: {
        path: PROJECT,
        pathNot: [
          '^packages/conformance/src/',
          '^packages/client/src/(runtime|generator/document)\\.ts$',
        ],
      },
    },
    {
      name: 'changes knows what the framework has for services and extensions',
      severity: 'error',
      from: { path: '^packages/changes/src/' },
      to: {
        path: PROJECT,
        pathNot: ['^packages/changes/src/', `^${FRAMEWORK}/(index|extension)\\.ts$`],
      },
    },
    {
      name: 'webhooks know what the framework and changes have for services and extensions',
      severity: 'error',
      from: { path: '^packages/webhooks/src/' },
      to: {
        path: PROJECT,
        pathNot: [
          '^packages/webhooks/src/',
          `^${FRAMEWORK}/(index|extension|exact-json)\\.ts$`,
          CHANGES,
        ],
      },
    },
    {
      name: 'a service imports what packages have for services',
      severity: 'error',
      from: { path: '^(src|examples)/', pathNot: ['\\.test\\.ts$', GENERATOR] },
      to: {
        path: '^packages/',
        pathNot: [
          INTERFACE,
          CHANGES,
          CHANGES_MIGRATIONS,
          WEBHOOKS,
          `^${FRAMEWORK}/config/identity\\.ts$`,
        ],
      },
    },
    {
      // .oxlintrc.json lists what of it never changes.
      name: 'a migration of a service imports only public interfaces',
      severity: 'error',
      from: { path: '^(src|examples)/.*/migrations/\\d+-' },
      to: { path: PROJECT, pathNot: [INTERFACE, CHANGES_MIGRATIONS] },
    },
    {
      name: 'what migrations use imports only what never changes',
      severity: 'error',
      from: { path: '^packages/.*(/migrations/\\d+-|/frozen/)' },
      to: { path: PROJECT, pathNot: '/frozen/' },
    },
    {
      name: 'no cycle',
      severity: 'error',
      from: {},
      to: { circular: true },
    },
    {
      name: 'no cycle of folders of the service',
      scope: 'folder',
      severity: 'error',
      from: { path: '^src/' },
      to: { circular: true },
    },
  ],
  options: {
    tsConfig: { fileName: 'tsconfig.json' },
    tsPreCompilationDeps: true,
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['@resource-service/source', 'node', 'import'],
    },
    includeOnly: PROJECT,
    // Has its own packages.
    exclude: '^examples/(tool-library|bookings)/',
    doNotFollow: '^(test|bench)/',
  },
};
