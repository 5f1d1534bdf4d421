import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** Files that take ten seconds and more: begun late, one of them would leave the other cores without work. */
export const long = [
  'check/check-command',
  'examples/mnist',
  'export/stablehlo-gradients',
  'export/stablehlo-training',
  'full-graph/errors/error-classes',
  'full-graph/generated/generated',
  'full-graph/generated/merges',
  'generated/imperative-programs',
  'generated/language-programs',
  'gpu/dtypes/op-table',
  'gpu/wgsl/attention',
  'gpu/wgsl/matmul',
  'gpu/wgsl/steps',
  'lab/compare',
  'memory/plain-loop',
  'package/bundlers',
  'package/commands',
  'package/training',
  'playground/playground',
  'training-steps/out-of-memory',
  'training-steps/training-steps',
  'trace/builtins/builtins',
].map((path) => `test/${path}.test.ts`);

export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const isLong = ({ moduleId }: TestSpecification) =>
      long.some((path) => moduleId.endsWith(`/${path}`));
    return [...sorted.filter(isLong), ...sorted.filter((file) => !isLong(file))];
  }
}
