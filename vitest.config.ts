import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';
import { LongestFirst } from './test/longest-first.ts';
import { NotTestedReporter } from './test/not-tested.ts';
import { apart, fromSources, onOneGpu, projectsOf } from './test/projects.ts';
import { leftToOtherDays } from './test/share-of-day.ts';

export default defineConfig({
  test: {
    maxWorkers: availableParallelism(),
    sequence: { sequencer: LongestFirst },
    reporters: ['default', new NotTestedReporter(console.error, leftToOtherDays)],
    projects: projectsOf({
      apart,
      fromSources,
      onOneGpu,
      shared: ['test/**/*.test.ts'],
      installEarly: true,
    }),
  },
});
