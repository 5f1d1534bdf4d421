/** Of files with many independent tests, a run of everything takes a quarter of the tests, each day the next. */

import { beforeEach } from 'vitest';
import { isOfDay } from './share-of-day.ts';

/** None of their tests reads what another one has done. */
export const dividedFiles: readonly string[] = [
  'autograd/captured-checkpoint',
  'dtypes/operator-dtypes',
  'errors/extended-prototypes',
  'export/module/module-ops',
  'export/stablehlo-ops',
  'full-graph/dynamic-shapes',
  'full-graph/lists/grown-lists',
  'full-graph/lists/structured-lists',
  'full-graph/merged-tensors',
  'full-graph/numbers/reads-before-writes',
  'full-graph/trace-effort',
  'gpu/wgsl/attention',
  'optim/alternating-steps',
  'optimize/budgets/budget-choice',
  'optimize/budgets/measured-forms',
  'optimize/masks-within-budget',
  'plan/aliased-inputs',
  'plan/recompute-scores',
  'run-program/partial-requests',
  'save/damaged',
  'trace/builtins/builtins',
  'trace/language/replaced-lookups',
  'trace/language/replaced-methods',
  'trace/language/user-getters',
  'trace/state/changing-attributes',
  'trace/state/changing-attributes-again',
  'trace/state/growing-lists',
  'trace/state/kinds-that-change',
  'training-steps/accumulation',
  'training-steps/never-above-eager',
  'vm/behaviour',
].map((path) => `/test/${path}.test.ts`);

let [file, number] = ['', 0];

beforeEach(({ task, skip }) => {
  const { filepath } = task.file;
  if (!dividedFiles.some((path) => filepath.endsWith(path))) return;
  if (filepath !== file) [file, number] = [filepath, 0];
  if (!isOfDay(number++)) skip('left to other days');
});
