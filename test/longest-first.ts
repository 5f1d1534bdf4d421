import { BaseSequencer, type TestSpecification } from 'vitest/node';

/**
 * Files that take eight seconds and more, in the order of their time: begun late, one of them would leave the other cores
 * without work.
 */
export const long = [
  'training-steps/training-steps',
  'errors/wrong-arguments',
  'full-graph/unmerged/result-structures',
  'optimize/budgets/floors',
  'full-graph/numbers/argument-kinds',
  'gpu/dtypes/op-table',
  'export/stablehlo-gradients',
  'generated/user-code/user-code',
  'full-graph/generated/merges',
  'trace/builtins/builtins',
  'playground/playground',
  'examples/mnist',
  'package/bundlers',
  'training-steps/out-of-memory',
  'trace/language/replaced-lookups',
  'gpu/wgsl/attention',
  'memory/plain-loop',
  'opinfo/changing-arguments',
  'generated/imperative-programs',
  'package/training',
  'training-steps/accumulation',
  'full-graph/generated/generated',
  'plan/aliased-inputs',
  'export/stablehlo-training',
  'plugin/bundlers',
  'generated/language-programs',
  'trace/state/growing-lists',
  'examples/two-devices',
  'check/check-command',
  'package/commands',
  'plan/known-choices',
  'run-program/control-failures',
  'package/package',
  'lab/compare',
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
