import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { defineConfig } from 'vitest/config';

/**
 * `npm run test:fast`: what a developer runs every few minutes. One or a few suites of every area, of those that take
 * seconds; `npm test` runs all.
 */

/** Suites whose files capture nothing: no debugger, so they share one process per worker. */
const eager = ['ops', 'nn', 'cpu', 'tensor', 'random', 'seeing', 'device'];

const captured = [
  'architecture',
  'capture',
  'dispatch',
  'errors',
  'guards',
  'input-spec',
  'lower',
  'optim',
  'regions',
  'stages',
  'vm',
  'full-graph/branches.test.ts',
  'full-graph/loops/loops.test.ts',
  'trace/calls-and-outputs.test.ts',
  'trace/training-step.test.ts',
  'optimize/fixtures.test.ts',
  'plan/order.test.ts',
  'save/save-load.test.ts',
];

const filesOf = (folder: string): string[] =>
  readdirSync(join(import.meta.dirname, 'test', folder), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.test.ts'))
    .map((file) => `test/${folder}/${file}`);

/** Captures use V8's debugger, one for a thread, and leave compiled functions behind. */
const mentionsCompiler = (file: string): boolean =>
  /src\/index\.ts|toStatic/.test(readFileSync(join(import.meta.dirname, file), 'utf8'));

const [own, shared] = [true, false].map((compiler) =>
  eager.flatMap(filesOf).filter((file) => mentionsCompiler(file) === compiler),
);

const test = {
  pool: 'forks' as const,
  testTimeout: 60_000,
  env: { TOSTATIC_CHECK: '1', TOSTATIC_THREADS: '1' },
};

export default defineConfig({
  test: {
    globalSetup: ['test/package/folder.ts'],
    projects: [
      { test: { ...test, name: 'shared', include: shared!, isolate: false } },
      {
        test: {
          ...test,
          name: 'own',
          include: [
            ...own!,
            ...captured.map((path) => `test/${path}${path.endsWith('.ts') ? '' : '/**/*.test.ts'}`),
          ],
        },
      },
    ],
  },
});
