/**
 * The folders of `src`, from the lowest to the highest. A folder imports from itself and from folders before
 * it; what stands in `src` itself, and `cli`, put the folders together.
 */
export const LAYERS = [
  'errors',
  'config',
  'observability',
  'json',
  'http/answers',
  'http/errors',
  'http/body',
  'http/server',
  'management',
  'auth',
  'database',
  'resources',
  'plants',
  'openapi',
  'website',
  'local',
];

// dependency-cruiser wants a default export.
// oxlint-disable-next-line import/no-default-export
export default {
  forbidden: [
    ...LAYERS.map((layer, index) => ({
      name: `${layer} imports only from itself and from folders below it`,
      severity: 'error',
      from: { path: `^src/${layer}/` },
      to: { path: '^src/', pathNot: `^src/(${LAYERS.slice(0, index + 1).join('|')})/` },
    })),
    {
      name: 'no circle',
      severity: 'error',
      from: {},
      to: { circular: true },
    },
    {
      name: 'every folder has its layer',
      severity: 'error',
      from: {},
      to: { path: '^src/[^/]+/', pathNot: `^src/(${LAYERS.join('|')}|cli)/` },
    },
  ],
  options: {
    tsConfig: { fileName: 'tsconfig.json' },
    tsPreCompilationDeps: true,
    includeOnly: '^src/',
  },
};
