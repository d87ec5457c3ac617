import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    // One PostgreSQL server for all test files. TEST_DATABASE_URL names another one.
    globalSetup: ['@resource-service/local/global-setup'],
    testTimeout: 30_000,
  },
});
