import { defineConfig } from 'vitest/config';

// Vite, which reads this file, wants a default export.
// oxlint-disable-next-line import/no-default-export
export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    // They need a browser: `npm run test:browser`.
    exclude: ['test/browser/**'],
    globalSetup: ['test/support/global-setup.ts'],
    setupFiles: ['reflect-metadata'],
    testTimeout: 30_000,
    hookTimeout: 60_000,
    // Many tests wait for time to pass, so there can be more of them than processors.
    maxWorkers: 3,
    coverage: {
      include: ['src/**/*.ts'],
      thresholds: { lines: 95, branches: 95 },
      reporter: ['text', 'html'],
    },
  },
});
