import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestProjectInlineConfiguration } from 'vitest/config';
import { CompiledSources } from './compiled-sources.ts';
import { partOfDay } from './share-of-day.ts';

/**
 * Files in processes of their own: they change what belongs to a process (threads, devices, mocked modules, module
 * hooks, the inspector, the list of ops), or measure it (its heap, its processor time, bytes of a device).
 */
export const apart = [
  'test/architecture/files-met.test.ts',
  'test/capture/environments.test.ts',
  'test/capture/mute-inspector.test.ts',
  'test/capture/own-alone.test.ts',
  'test/capture/routes.test.ts',
  'test/capture/script-evaluator.test.ts',
  'test/capture/session.test.ts',
  'test/cli/**/*.test.ts',
  'test/docs/readme.test.ts',
  'test/docs/samples.test.ts',
  'test/errors/wrong-arguments.test.ts',
  'test/examples/cswin.test.ts',
  'test/examples/mnist.test.ts',
  'test/examples/quickstart.test.ts',
  'test/examples/save-load.test.ts',
  'test/examples/mnist-compare.test.ts',
  'test/examples/two-devices.test.ts',
  'test/gpu/browser.test.ts',
  'test/gpu/check-mode.test.ts',
  'test/gpu/computed-on-cpu.test.ts',
  'test/gpu/dtypes/layouts.test.ts',
  'test/gpu/dtypes/offload.test.ts',
  'test/gpu/dtypes/saved-values.test.ts',
  'test/gpu/faults.test.ts',
  'test/gpu/in-place.test.ts',
  'test/gpu/kernel-cache.test.ts',
  'test/gpu/memory.test.ts',
  'test/gpu/mlp-eager.test.ts',
  'test/gpu/mlp-static.test.ts',
  'test/gpu/pointwise.test.ts',
  'test/gpu/process.test.ts',
  'test/gpu/profiler.test.ts',
  'test/gpu/program.test.ts',
  'test/gpu/saved-programs.test.ts',
  'test/gpu/submits.test.ts',
  'test/gpu/transfers.test.ts',
  'test/gpu/webgl/**/*.test.ts',
  'test/gpu/wgsl/arena.test.ts',
  'test/gpu/wgsl/gpujs-alone.test.ts',
  'test/gpu/wgsl/held-products.test.ts',
  'test/gpu/wgsl/large.test.ts',
  'test/gpu/wgsl/subgroups.test.ts',
  'test/package/**/*.test.ts',
  'test/playground/compute.test.ts',
  'test/threads/**/*.test.ts',
  'test/device/transfers.test.ts',
  'test/autograd/second-gradients.test.ts',
  'test/cpu/revectorize.test.ts',
  'test/lab/compare.test.ts',
  'test/lab/plain-step.test.ts',
  'test/memory/collected.test.ts',
  'test/opinfo/changing-arguments.test.ts',
  'test/ops/gradients.test.ts',
  'test/optimize/step-counts.test.ts',
  'test/plan/offload.test.ts',
  'test/plan/step-budget.test.ts',
  'test/plan/targets.test.ts',
  'test/run-program/soak.test.ts',
  'test/save/damaged-attributes.test.ts',
  'test/save/repeated-lists.test.ts',
  'test/training-steps/out-of-memory.test.ts',
  'test/user-kernels/on-gpu.test.ts',
];

/** Files that replace modules of the sources, or load TypeScript as a test runner does: in processes of their own, too. */
export const fromSources = [
  'test/opinfo/misplaced-options.test.ts',
  'test/plan/known-choices.test.ts',
  'test/plugin/**/*.test.ts',
  'test/profiler/command.test.ts',
  'test/trace/policy.test.ts',
  'test/vm/machine.test.ts',
];

/**
 * Files that share a GPU as well as processes, but for those of `apart`: a software adapter takes seconds to compile a
 * large kernel, and most files need kernels that others do.
 */
export const onOneGpu = ['test/gpu/**/*.test.ts'];

/**
 * Folders whose files share processes, one list after the other; the files of all other folders come last. What an
 * engine keeps of many files (scripts, code, a larger heap) makes each later one slower: after 75 files, the same
 * function takes twice the processor time to compile. So processes don't live that long.
 */
export const generations: readonly (readonly string[])[] = [
  ['control-flow', 'conformance', 'corpus', 'full-graph'],
  ['dispatch', 'explain', 'lower', 'regions', 'stages', 'vm'],
  ['trace'],
  ['autograd', 'cpu', 'dtypes', 'guards', 'input-spec', 'optim'],
  ['capture', 'distributions', 'errors', 'functional', 'nn', 'ops'],
  ['lab', 'memory', 'run-program', 'training-steps'],
  ['check', 'generated', 'optimize', 'plan'],
];

/**
 * V8 optimizes a function when it has run 66 KB of bytecode, on another core. Tests run much code, and little of it often:
 * alone in its process, a file may spend half of its CPU time there. With this, V8 waits for fifteen times as much.
 */
const optimizedLate = '--interrupt-budget=1000000';
/** Each breakpoint that captures a function waits for the threads that optimize; all cores are busy with tests anyway. */
const optimizedInPlace = '--no-concurrent-recompilation';
/** Those that this version of Node has. */
export const nodeOptions: readonly string[] = [optimizedLate, optimizedInPlace].filter(
  (option) => spawnSync(process.execPath, [option, '--version']).status === 0,
);

const early = ['test/install-early.ts'];
/** In processes that files share, each starts with these. */
const inShared = {
  isolate: false,
  setupFiles: ['test/collected-between-files.ts', 'test/between-files.ts', 'test/tests-of-day.ts'],
};
/** Without patterns of files. */
const isWhole = process.argv.slice(2).every((word) => word === 'run' || word.startsWith('-'));

/**
 * The files of the two patterns as projects. Those of `shared` that aren't named in `apart` share processes, each of
 * which runs one file after another: sources are loaded, and compiled by the engine, once per process instead of once
 * per file. Capturing uses V8's debugger, which is per thread: all workers are processes.
 */
export function projectsOf(files: {
  readonly apart: readonly string[];
  readonly onOneGpu?: readonly string[];
  readonly fromSources?: readonly string[];
  readonly shared: readonly string[];
  /** One process lives for all of them: they are few. */
  readonly inOneGeneration?: boolean;
  /** They need the packed package and environments of Python. */
  readonly installEarly?: boolean;
}): TestProjectInlineConfiguration[] {
  // A run that watches for changes needs the sources themselves; failures name their lines only there.
  const useCompiled = process.argv.includes('run') && !process.env.TEST_SOURCES;
  const compiled = useCompiled ? new CompiledSources() : null;
  const sources = compiled?.folder;
  const plugins = compiled ? [compiled.plugin()] : [];
  // Files of tests, and of the browsers that they start: a process that is stopped removes none of its own.
  const temporary = mkdtempSync(join(tmpdir(), 'tostatic-tests-'));
  process.once('exit', () => rmSync(temporary, { recursive: true, force: true }));
  const test = {
    ...(sources && { server: { deps: { external: [new RegExp(`^${sources}/`)] } } }),
    testTimeout: 60_000,
    hookTimeout: 120_000,
    globalSetup: ['test/package/folder.ts'],
    pool: 'forks' as const,
    execArgv: [...nodeOptions],
    env: {
      // Programs are compared with their traced programs; TOSTATIC_CHECK=0 switches it off.
      TOSTATIC_CHECK: process.env.TOSTATIC_CHECK ?? '1',
      // Test files take all cores already; tests of threads ask for theirs.
      TOSTATIC_THREADS: process.env.TOSTATIC_THREADS ?? '1',
      TMPDIR: temporary,
      TOSTATIC_KEPT_BETWEEN_RUNS: tmpdir(),
      ...(sources && { TOSTATIC_COMPILED_SOURCES: sources }),
      ...partOfDay,
    },
  };
  return [
    {
      plugins,
      test: {
        ...test,
        name: 'apart',
        globalSetup: [...test.globalSetup, ...(isWhole && files.installEarly ? early : [])],
        include: [...files.apart],
        // A worker is only reused for a file of the same project: one project after the other.
        sequence: { groupOrder: 0 },
      },
    },
    {
      test: {
        ...test,
        name: 'from sources',
        include: [...(files.fromSources ?? [])],
        sequence: { groupOrder: 0 },
      },
    },
    {
      plugins,
      test: {
        ...test,
        name: 'gpu',
        include: [...(files.onOneGpu ?? [])],
        exclude: [...apart],
        env: { ...test.env, TOSTATIC_TESTS_SHARE_GPU: '1' },
        ...inShared,
        sequence: { groupOrder: 1 },
      },
    },
    ...(files.inOneGeneration ? [files.shared] : sharedBy(files.shared)).map((include, i, all) => ({
      plugins,
      test: {
        ...test,
        name: i === 0 ? 'shared' : `shared ${i + 1}`,
        include: [...include],
        exclude: [
          ...apart,
          ...fromSources,
          ...onOneGpu,
          ...(i === all.length - 1 ? all.slice(0, i).flat() : []),
        ],
        ...inShared,
        sequence: { groupOrder: i + 2 },
      },
    })),
  ];
}

/** The patterns of each generation; the last one, which matches all files, is without those of the others. */
const sharedBy = (rest: readonly string[]): (readonly string[])[] => [
  ...generations.map((folders) => folders.map((folder) => `test/${folder}/**/*.test.ts`)),
  rest,
];
