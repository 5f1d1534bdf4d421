import { BaseSequencer, type TestSpecification } from 'vitest/node';

/**
 * Files that take eight seconds and more, in the order of their time: begun late, one of them would leave the other cores
 * without work.
 */
export const long = [
  'optimize/budgets/floors',
  'training-steps/training-steps',
  'optimize/budgets/below-floor',
  'cpu/revectorize',
  'gpu/dtypes/op-table',
  'optimize/budgets/monotone-budgets',
  'optimize/budgets/measured-forms',
  'lab/presets-never-win',
  'playground/playground',
  'examples/mnist',
  'input-spec/loops-over-sizes',
  'package/training',
  'errors/wrong-arguments',
  'full-graph/generated/merges',
  'full-graph/gradients/gradients-through-regions',
  'export/stablehlo-gradients',
  'plugin/bundlers',
  'full-graph/numbers/argument-kinds',
  'generated/user-code/user-code',
  'training-steps/out-of-memory',
  'package/bundlers',
  'full-graph/generated/generated',
  'process-cache/corpus',
  'check/check-command',
  'process-cache/processes',
  'vm/newer-engine',
  'cli/commands',
  'optimize/fuse-pointwise',
  'capture/entry-combinations',
  'trace/language/replaced-methods',
  'guards/fixed-guards',
  'memory/plain-loop',
  'functional/pytorch',
  'package/constructed',
  'distributions/pytorch',
  'opinfo/changing-arguments',
  'gpu/webgl/webgl',
  'optimize/recompute',
  'dtypes/memory-bounds',
  'trace/builtins/builtins',
  'package/commands',
  'package/package',
  'lab/compare',
  'export/stablehlo-training',
  'optimize/evictions',
  'package/sizes',
  'full-graph/trace-effort',
  'gpu/wgsl/attention',
  'examples/two-devices',
  'plan/aliased-inputs',
  'generated/language-programs',
  'trace/growing-lists/whole',
  'plan/recompute-scores',
  'export/module/module-ops',
  'export/stablehlo-ops',
  'package/pure-initializers',
].map((path) => `test/${path}.test.ts`);

export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const place = ({ moduleId }: TestSpecification) => {
      const found = long.findIndex((path) => moduleId.endsWith(`/${path}`));
      return found < 0 ? long.length : found;
    };
    const sorted = await super.sort(files);
    return sorted.sort((a, b) => place(a) - place(b));
  }
}
