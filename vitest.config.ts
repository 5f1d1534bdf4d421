import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';
import { apart, projectsOf } from './test/projects.ts';

export default defineConfig({
  test: {
    maxWorkers: availableParallelism(),
    projects: projectsOf({ apart, shared: ['test/**/*.test.ts'] }),
  },
});
