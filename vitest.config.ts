import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    globalSetup: ['test/package/folder.ts'],
    testTimeout: 60_000,
    hookTimeout: 120_000,
    // Capturing uses V8's debugger, which is per thread: processes keep test files apart.
    pool: 'forks',
    maxWorkers: 2,
  },
});
