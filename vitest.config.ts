import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    globalSetup: ['test/package/folder.ts'],
    testTimeout: 60_000,
    hookTimeout: 120_000,
    // Capturing uses V8's debugger, which is per thread: processes keep test files apart.
    pool: 'forks',
    maxWorkers: availableParallelism(),
    env: {
      // Programs are compared with their traced programs; TOSTATIC_CHECK=0 switches it off.
      TOSTATIC_CHECK: process.env.TOSTATIC_CHECK ?? '1',
      // Test files take all cores already; tests of threads ask for theirs.
      TOSTATIC_THREADS: process.env.TOSTATIC_THREADS ?? '1',
    },
  },
});
