import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';
import { LongestFirst } from './test/longest-first.ts';
import { NotTestedReporter } from './test/not-tested.ts';
import { apart, fromSources, onOneGpu, projectsOf } from './test/projects.ts';

export default defineConfig({
  test: {
    maxWorkers: availableParallelism(),
    sequence: { sequencer: LongestFirst },
    reporters: ['default', new NotTestedReporter()],
    projects: projectsOf({
      apart,
      fromSources,
      onOneGpu,
      shared: ['test/**/*.test.ts'],
      installEarly: true,
    }),
  },
});
