import { defineConfig } from 'vitest/config';
import { NotTestedReporter } from './test/not-tested.ts';
import { projectsOf } from './test/projects.ts';

/**
 * `npm run test:fast`: what a developer runs every few minutes. One or a few suites of every area, of those that take
 * seconds; `npm test` runs all.
 */
const shared = [
  'architecture',
  'cpu',
  'device',
  'dispatch',
  'errors',
  'guards',
  'input-spec',
  'lower',
  'nn',
  'ops',
  'optim',
  'random',
  'regions',
  'seeing',
  'stages',
  'tensor',
  'vm',
  'full-graph/branches.test.ts',
  'full-graph/loops/loops.test.ts',
  'trace/calls-and-outputs.test.ts',
  'trace/training-step.test.ts',
  'optimize/fixtures.test.ts',
  'plan/order.test.ts',
  'save/save-load.test.ts',
].map((path) => `test/${path}${path.endsWith('.ts') ? '' : '/**/*.test.ts'}`);

export default defineConfig({
  test: {
    reporters: ['default', new NotTestedReporter()],
    projects: projectsOf({
      apart: ['test/capture/**/*.test.ts', 'test/ops/gradients.test.ts'],
      shared,
      inOneGeneration: true,
    }),
  },
});
