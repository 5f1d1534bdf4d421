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
  'check/check-command',
  'process-cache/processes',
  'memory/plain-loop',
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
  'gpu/wgsl/attention',
  'examples/two-devices',
  'plan/aliased-inputs',
  'generated/language-programs',
  'plan/recompute-scores',
  'export/module/module-ops',
  'package/pure-initializers',
].map((path) => `test/${path}.test.ts`);

/**
 * Long files that search for counterexamples to a property. A run of everything takes a third of them, on each day the
 * next third, unless `ALL_TESTS` is set; a run of named files takes those.
 */
export const searches = [
  'optimize/budgets/floors',
  'training-steps/training-steps',
  'optimize/budgets/below-floor',
  'cpu/revectorize',
  'gpu/dtypes/op-table',
  'optimize/budgets/monotone-budgets',
  'optimize/budgets/measured-forms',
  'lab/presets-never-win',
  'errors/wrong-arguments',
  'full-graph/generated/merges',
  'full-graph/gradients/gradients-through-regions',
  'export/stablehlo-gradients',
  'full-graph/numbers/argument-kinds',
  'generated/user-code/user-code',
  'training-steps/out-of-memory',
  'full-graph/generated/generated',
  'optimize/recompute',
  'full-graph/gradients/several-names',
  'opinfo/changing-arguments',
  'optimize/evictions',
  'capture/entry-combinations',
  'dtypes/memory-bounds',
  'generated/language-programs',
].map((path) => `test/${path}.test.ts`);

/** The searches that this run leaves to other days. */
function ofOtherDays(): readonly string[] {
  const isWhole = process.argv.slice(2).every((each) => each === 'run' || each.startsWith('-'));
  if (!isWhole || process.env.ALL_TESTS) return [];
  const day = Math.floor(Date.now() / 86_400_000);
  return searches.filter((_, i) => (i + day) % 3 !== 0);
}

export class LongestFirst extends BaseSequencer {
  override async sort(all: TestSpecification[]): Promise<TestSpecification[]> {
    const left = ofOtherDays();
    const files = all.filter(({ moduleId }) => !left.some((path) => moduleId.endsWith(`/${path}`)));
    if (files.length < all.length) {
      console.log(`Left to other days (ALL_TESTS=1 runs them):\n  ${left.join('\n  ')}`);
    }
    const place = ({ moduleId }: TestSpecification) => {
      const found = long.findIndex((path) => moduleId.endsWith(`/${path}`));
      return found < 0 ? long.length : found;
    };
    const sorted = await super.sort(files);
    return sorted.sort((a, b) => place(a) - place(b));
  }
}
