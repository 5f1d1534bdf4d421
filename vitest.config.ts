import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';
import { NotTestedReporter } from './test/not-tested.ts';
import { apart, projectsOf } from './test/projects.ts';

export default defineConfig({
  test: {
    maxWorkers: availableParallelism(),
    reporters: ['default', new NotTestedReporter()],
    projects: projectsOf({ apart, shared: ['test/**/*.test.ts'] }),
  },
});
