import { existsSync, readdirSync } from 'node:fs';

/** What features consist of. */
const FRAMEWORK = [
  'errors',
  'config',
  'observability',
  'json',
  'database',
  'auth',
  'http/answers',
  'http/errors',
  'http/body',
  'http/server',
  'management',
  'resources',
];

/** A feature may import from other ones, without a circle. */
const FEATURES = readdirSync('src').filter((folder) =>
  existsSync(`src/${folder}/${folder}.feature.ts`),
);

/**
 * The folders of `src`, from the lowest to the highest. A folder imports from itself and from folders before
 * it; what stands in `src` itself, and `cli`, put the folders together.
 */
export const LAYERS = [...FRAMEWORK, ...FEATURES, 'openapi', 'website', 'local'];

function importable(layer) {
  const last = FEATURES.includes(layer) ? FEATURES.at(-1) : layer;
  return LAYERS.slice(0, LAYERS.indexOf(last) + 1);
}

// dependency-cruiser wants a default export.
// oxlint-disable-next-line import/no-default-export
export default {
  forbidden: [
    ...LAYERS.map((layer) => ({
      name: `${layer} imports only from itself and from folders below it`,
      severity: 'error',
      from: { path: `^src/${layer}/` },
      to: { path: '^src/', pathNot: `^src/(${importable(layer).join('|')})/` },
    })),
    {
      name: 'the service imports nothing but src and packages',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/cli/' },
      to: { path: '^(examples|clients)/' },
    },
    {
      name: 'the command does not import the service',
      severity: 'error',
      from: { path: '^clients/command/' },
      to: {
        path: '^src/',
        pathNot: '^src/((errors|config|observability|json|local|cli|auth/issued-tokens)/|identity)',
      },
    },
    {
      name: 'a migration imports only what never changes',
      severity: 'error',
      from: { path: '/migrations/\\d+-|/frozen/' },
      to: { path: '^(src|examples|clients)/', pathNot: '/frozen/' },
    },
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
    includeOnly: '^(src|examples|clients/command)/',
  },
};
