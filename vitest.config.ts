import { defineConfig } from 'vitest/config';
import { BaseSequencer } from 'vitest/node';
import type { TestSpecification } from 'vitest/node';
import { EXAMPLE } from './test/support/application.js';

const BUILD = 'test/support/build.ts';
const DATABASE = 'test/support/global-setup.ts';
const PROGRAM = 'test/support/program.ts';
const CLUSTER = 'test/support/made-cluster.ts';

const withDatabase = {
  globalSetup: [BUILD, DATABASE, PROGRAM],
  setupFiles: ['reflect-metadata'],
};

const withCluster = { ...withDatabase, globalSetup: [...withDatabase.globalSetup, CLUSTER] };

/** These projects test what a service does when the database is slow. In others, its timeouts are as long as a busy machine may need. */
const withRealTimeouts = { provide: { hasRealTimeouts: true } };

/** They promise times, while many clients keep the processors busy: beside other tests, they would measure those. */
const TIMED = ['test/faults/feed-load.test.ts', 'test/faults/issued-tokens.test.ts'];

/** It waits for locks more than two minutes. Vitest starts large files first: this one, which is small, would end alone. */
const LONGEST = 'test/slow/locked-row-doors.e2e.test.ts';

/** Starts it before the other slow tests. */
class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const isLongest = ({ moduleId }: TestSpecification) => moduleId.endsWith(LONGEST);
    // oxlint-disable-next-line unicorn/no-array-sort -- The method of a sequencer, not of an array.
    const sorted = await super.sort(files);
    const others = sorted.filter((file) => !isLongest(file));
    const start = others.findIndex(({ project }) => project.name === 'slow');
    return others.toSpliced(start, 0, ...sorted.filter(isLongest));
  }
}

const ofTheService = {
  // Loading Nest and TypeORM anew for each file takes a third of the time.
  isolate: false,
  ...withDatabase,
  setupFiles: [...withDatabase.setupFiles, 'test/support/own-errors.ts'],
};

// The tests and their global set-up (`__vitest__`) run the sources of the packages, which need not be built.
const conditions = ['@resource-service/source', 'node'];

// Vite, which reads this file, wants a default export.
// oxlint-disable-next-line import/no-default-export
export default defineConfig({
  ssr: { resolve: { conditions } },
  environments: { __vitest__: { resolve: { conditions, externalConditions: conditions } } },
  test: {
    // Ends what hangs. A test that promises something in time has a bound of its own.
    testTimeout: 300_000,
    hookTimeout: 300_000,
    // Node.js loads the built program, as it does for users.
    server: { deps: { external: [/\/dist(-[\w-]+)?\//] } },
    // Many tests wait for time to pass, so there can be more of them than processors.
    maxWorkers: 6,
    sequence: { sequencer: LongestFirst },
    coverage: {
      include: [
        'src/**/*.ts',
        'packages/*/src/**/*.ts',
        'packages/api-reference/public/code-samples/*.js',
      ],
      // Tested elsewhere: by test/faults (develop.ts runs as a separate process), by test/citus, by the tests of the client.
      exclude: [
        'packages/framework/src/cli/develop.ts',
        'packages/client/src/**',
        // It is a test: what it says of a wrong service needs one for each of its lines.
        'packages/conformance/src/**',
        'src/plants/migrations/*-distribute-tables.ts',
        // Their own tests run them, from the packed packages.
        'examples/**',
      ],
      thresholds: {
        lines: 95,
        branches: 95,
        // A handler that no test has called: CONTRIBUTING.md, "Add an endpoint".
        '{src,packages/*/src}/**/*.controller.ts': { functions: 100 },
      },
      reporter: ['text', 'html'],
    },
    projects: [
      {
        extends: true,
        test: {
          name: 'service',
          // The tests of an example run in its program: `test/support/application.ts`.
          include: [
            'test/*/*.test.ts',
            'packages/*/test/**/*.test.ts',
            ...(EXAMPLE === undefined ? [] : [`${EXAMPLE}/*.test.ts`]),
          ],
          // Each of them is a project of its own.
          exclude: [
            'test/{slow,faults,upgrade,generator,browser,kubernetes}/**',
            'test/{monitoring,schemathesis,patroni,client,clients,citus,compose}/**',
            'packages/create-service/test/**',
          ],
          ...ofTheService,
        },
      },
      {
        extends: true,
        test: {
          name: 'slow',
          include: ['test/slow/*.test.ts'],
          ...withRealTimeouts,
          ...ofTheService,
        },
      },
      {
        extends: true,
        test: {
          name: 'faults',
          // Each test has servers of its own, and mostly waits.
          maxWorkers: 2,
          ...withCluster,
          ...withRealTimeouts,
          include: ['test/faults/*.test.ts'],
          exclude: TIMED,
        },
      },
      {
        extends: true,
        test: {
          name: 'timed-faults',
          maxWorkers: 1,
          // After the others.
          sequence: { groupOrder: 1 },
          ...withCluster,
          ...withRealTimeouts,
          include: TIMED,
        },
      },
      {
        extends: true,
        test: {
          name: 'upgrade',
          globalSetup: [BUILD],
          include: ['test/upgrade/*.test.ts'],
          testTimeout: 600_000,
        },
      },
      {
        extends: true,
        test: {
          name: 'generator',
          include: ['test/generator/*.test.ts'],
        },
      },
      {
        extends: true,
        test: {
          name: 'create-service',
          // Both files install packages, and one measures the time.
          maxWorkers: 1,
          globalSetup: ['packages/create-service/test/packed.ts'],
          include: ['packages/create-service/test/*.test.ts'],
        },
      },
      // What needs more than this project installs.
      {
        extends: true,
        test: {
          name: 'browser',
          maxWorkers: 1,
          include: ['test/browser/*.test.ts'],
          expect: { poll: { timeout: 60_000 } },
          ...withDatabase,
        },
      },
      {
        extends: true,
        test: {
          name: 'kubernetes',
          globalSetup: [BUILD],
          include: ['test/kubernetes/*.test.ts'],
        },
      },
      {
        extends: true,
        test: {
          name: 'monitoring',
          include: ['test/monitoring/*.test.ts'],
          ...withDatabase,
        },
      },
      {
        extends: true,
        test: {
          name: 'schemathesis',
          include: ['test/schemathesis/*.test.ts'],
          ...withDatabase,
        },
      },
      {
        extends: true,
        test: {
          name: 'patroni',
          globalSetup: [BUILD],
          include: ['test/patroni/*.test.ts'],
        },
      },
      {
        extends: true,
        test: {
          name: 'clients',
          include: ['test/clients/*.test.ts'],
          // Downloads the generators and what their clients import.
          hookTimeout: 600_000,
          ...withDatabase,
        },
      },
      {
        extends: true,
        test: {
          name: 'client',
          include: [
            'test/client/*.test.ts',
            ...(EXAMPLE === undefined ? [] : [`${EXAMPLE}/client/*.test.ts`]),
          ],
          ...withDatabase,
          globalSetup: ['test/client/build.ts', BUILD, DATABASE, PROGRAM],
        },
      },
      {
        extends: true,
        test: {
          name: 'citus',
          globalSetup: [BUILD, PROGRAM],
          setupFiles: ['reflect-metadata'],
          include: ['test/citus/*.test.ts'],
        },
      },
      {
        extends: true,
        test: {
          name: 'compose',
          include: ['test/compose/*.test.ts'],
          hookTimeout: 600_000,
        },
      },
    ],
  },
});
